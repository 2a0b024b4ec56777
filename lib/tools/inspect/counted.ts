import type { Count } from './health.ts';

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? noun : plural}`;

export const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

/** `1,234`, or `10,000+` if the count stopped. */
export const formatCount = ({ count, complete }: Count): string =>
  `${count.toLocaleString('en-US')}${complete ? '' : '+'}`;
