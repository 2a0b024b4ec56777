/** Does one step of a rehearsal, and tells of it. */
export async function step<T>(title: string, act: () => Promise<T>): Promise<T> {
  const from = performance.now();
  try {
    const result = await act();
    console.log(`✓ ${title} (${((performance.now() - from) / 1000).toFixed(1)} s)`);
    return result;
  } catch (error) {
    console.log(`✗ ${title}`);
    throw error;
  }
}
