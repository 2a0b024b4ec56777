export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? noun : plural}`;

export const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
