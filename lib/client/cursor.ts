import { BadRequestError } from './errors.ts';

/** A place in a listing, as one word that can be given to the next. */
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
  throw new BadRequestError(
    'the cursor',
    text,
    'one that an earlier listing gave; leave it out to start anew',
  );
}
