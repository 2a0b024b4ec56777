import { InvalidArgumentError } from 'commander';
import { isJobType, quoted } from '../../wire/message.ts';
import type { System } from './system.ts';

export function parseType(text: string): string {
  if (isJobType(text)) return text;
  throw new InvalidArgumentError(
    `The type is ${quoted(text)}; it must be 1 to 100 characters of A-Z a-z 0-9 . _ -. 'leasehold stats' lists types.`,
  );
}

export const controlParts = ({ table, clock, queue, actor }: System) => ({
  ...{ table, clock, queue: queue(), by: actor },
});
