import { NotJsonError } from '../../protocol/errors.ts';
import type { RunningJob } from '../../protocol/job.ts';
import type { Settings } from '../../settings/settings.ts';
import type { JobOptions } from '../define-job.ts';
import { loggableError, readOr } from '../describe-error.ts';
import { retryWaitOf } from '../thrown.ts';
import type { HandlerEnd, Kept, Origin } from './cells.ts';

/** Batched, because sends are expensive. The host does not trust messages, since user code may have sent them. */
export type ToCell =
  | RunMessage
  /** The reason is in shared memory. */
  | { readonly kind: 'abort'; readonly run: number }
  | { readonly kind: 'saved'; readonly run: number; readonly outcome: SaveOutcome }
  | { readonly kind: 'flush'; readonly turn: number };

/** Payload and checkpoint are JSON text. */
export interface RunMessage extends Origin {
  readonly kind: 'run';
  readonly run: number;
  readonly slot: number;
  readonly progressIntervalMs: number;
  readonly job: JobData;
}

export interface JobData
  extends Pick<
    RunningJob,
    'jobId' | 'type' | 'payload' | 'createdAt' | 'trace' | 'attempt' | 'errors' | 'crashes' | 'releases'
  > {
  readonly checkpoint?: string;
}

export function jobDataOf(running: RunningJob): JobData {
  const { jobId, type, payload, attempt, errors, crashes, releases, createdAt, trace } = running;
  const checkpoint = running.checkpoint === undefined ? undefined : JSON.stringify(running.checkpoint);
  return { jobId, type, payload, checkpoint, attempt, errors, crashes, releases, createdAt, trace };
}

export type SaveOutcome = 'written' | 'lost' | { readonly failed: string };

export type FromCell =
  | { readonly kind: 'ready'; readonly types: readonly ({ readonly type: string } & JobOptions)[] }
  | { readonly kind: 'ended'; readonly run: number; readonly end: HandlerEnd }
  | { readonly kind: 'unstarted'; readonly run: number }
  | ({ readonly kind: 'save'; readonly run: number } & Kept)
  /** A handler left the process broken for the next one. */
  | { readonly kind: 'unwell'; readonly fault: string }
  | { readonly kind: 'flushed'; readonly turn: number };

/** The store checks the row's limits again. */
type ChannelLimits = Pick<Settings, 'maxResultBytes' | 'maxCheckpointBytes'>;

const MAX_TEXT = 64 * 1024;
const MAX_TYPES = 10_000;

type Fields = Readonly<Record<string, unknown>>;
type TypeFields = Fields & { readonly type: string } & JobOptions;

export function readFromCell(received: unknown, limits: ChannelLimits): FromCell[] {
  if (!Array.isArray(received)) return [];
  return received.map((each) => readOne(fieldsOf(each), limits)).filter((message) => message !== undefined);
}

function readOne(fields: Fields, limits: ChannelLimits): FromCell | undefined {
  const { kind, run, turn } = fields;
  if (kind === 'ready') return { kind, types: readTypes(fields.types) };
  if (kind === 'unwell') return { kind, fault: text(fields.fault) ?? 'unreadable' };
  if (kind === 'flushed') return isCount(turn) ? { kind, turn } : undefined;
  if (!isCount(run)) return undefined;
  if (kind === 'unstarted') return { kind, run };
  if (kind === 'save') {
    const checkpoint = text(fields.checkpoint, limits.maxCheckpointBytes);
    const progress = text(fields.progress, limits.maxCheckpointBytes);
    return (checkpoint ?? progress) === undefined ? undefined : { kind, run, checkpoint, progress };
  }
  const end = kind === 'ended' ? readEnd(fieldsOf(fields.end), limits) : undefined;
  return end && { kind: 'ended', run, end };
}

function readEnd(end: Fields, limits: ChannelLimits): HandlerEnd | undefined {
  if (end.kind === 'returned') {
    const result = jsonText(end.result, limits.maxResultBytes);
    const progress = jsonText(end.progress, limits.maxCheckpointBytes);
    return end.result === undefined || result !== undefined
      ? { kind: 'returned', result, progress }
      : UNREADABLE_RESULT;
  }
  if (end.kind !== 'threw') return undefined;
  const error = fieldsOf(end.error);
  return {
    kind: 'threw',
    error: {
      text: text(error.text) ?? 'thrown value: unreadable',
      loggable: text(error.loggable) ?? 'unreadable',
      retryable: error.retryable !== false,
      quotesPayload: error.quotesPayload === true,
      retryAfterMs: retryWaitOf(error.retryAfterMs),
    },
  };
}

const NOT_JSON = loggableError(new NotJsonError('result', undefined));
/** Dropping an unreadable result, for example after user code replaced `JSON.stringify`, would leave the run open forever. */
const UNREADABLE_RESULT: HandlerEnd = {
  kind: 'threw',
  error: { text: NOT_JSON, loggable: NOT_JSON, retryable: true },
};

/** Numbers are checked later, like those of any registry. */
function readTypes(types: unknown): ({ readonly type: string } & JobOptions)[] {
  if (!Array.isArray(types) || types.length > MAX_TYPES) return [];
  return types.map(fieldsOf).filter((each): each is TypeFields => text(each.type) !== undefined);
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value);

/** Cells check lengths before sending, so a longer string is not ours. */
const text = (value: unknown, limit = MAX_TEXT): string | undefined =>
  typeof value === 'string' && value.length <= limit && Buffer.byteLength(value) <= limit ? value : undefined;

function jsonText(value: unknown, limit: number): string | undefined {
  const json = text(value, limit);
  return json !== undefined && readOr(false, () => JSON.parse(json) !== undefined) ? json : undefined;
}
