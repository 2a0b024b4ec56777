import type { Count } from './health.ts';

export const formatNumber = (value: number): string => value.toLocaleString('en-US');

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(count)} ${count === 1 ? noun : plural}`;

export const times = (count: number): string => (count === 1 ? 'once' : `${formatNumber(count)} times`);

export const formatCount = ({ count, complete }: Count): string =>
  `${formatNumber(count)}${complete ? '' : '+'}`;
