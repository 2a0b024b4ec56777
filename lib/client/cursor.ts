import type { Place } from '../protocol/store/merged-shards.ts';
import { BadRequestError } from './errors.ts';

/** Needs no quoting in a shell. */
export const encodePlace = ({ at, upTo }: Place): string =>
  [String(at), ...Object.entries(upTo).map(([shard, jobId]) => `${shard}:${wordOf(jobId)}`)].join('/');

const PLACE = /^(-?\d+(?:\.\d+)?)((?:\/[a-z]\d+:[^/]+)*)$/;

export function decodePlace(text: string | undefined): Place | undefined {
  if (text === undefined) return undefined;
  const [, at, ties = ''] = PLACE.exec(text) ?? [];
  const upTo = ties
    .split('/')
    .slice(1)
    .map((tie) => {
      const colon = tie.indexOf(':');
      return [tie.slice(0, colon), idOf(tie.slice(colon + 1), text)] as const;
    });
  if (at === undefined) throw notACursor(text);
  return { at: Number(at), upTo: Object.fromEntries(upTo) };
}

export const encodeKey = (jobId: string): string => `~${wordOf(jobId)}`;

export function decodeKey(text: string | undefined): { readonly jobId: string } | undefined {
  if (text === undefined) return undefined;
  if (!text.startsWith('~') || text.length === 1) throw notACursor(text);
  return { jobId: idOf(text.slice(1), text) };
}

/** Only hand-written rows have other IDs. */
const wordOf = (jobId: string): string => encodeURIComponent(jobId).replaceAll('%3A', ':');

function idOf(word: string, text: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    throw notACursor(text);
  }
}

const notACursor = (text: string) =>
  new BadRequestError(
    'the cursor',
    text,
    'one returned by an earlier listing of the same jobs; leave it out to start over',
  );
