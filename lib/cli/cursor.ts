import { CliError } from './cli-error.ts';

/** A place in a listing, as one word that can be pasted into the next command. */
export const encodeCursor = (place: object): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

export function decodeCursor<T extends object>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  try {
    const place = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown;
    if (typeof place === 'object' && place !== null) return place as T;
  } catch {
    // Said below.
  }
  throw new CliError('--cursor must be one that a listing printed; leave it out to start from the beginning');
}
