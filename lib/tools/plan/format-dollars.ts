export function formatDollars(dollars: number): string {
  if (dollars > 0 && dollars < 0.0001) return 'below $0.0001';
  if (dollars > 0 && dollars < 0.01) return `$${dollars.toFixed(4)}`;
  return `$${dollars.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
