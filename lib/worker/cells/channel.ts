import { NotJsonError } from '../../protocol/errors.ts';
import type { TraceContext } from '../../wire/trace.ts';
import type { JobOptions } from '../define-job.ts';
import type { HandlerEnd, Kept, Origin, PayloadCheck } from './cells.ts';
import { loggableError } from './describe-error.ts';
import type { Revocation } from './revocation.ts';

/**
 * What host and cell say to each other. Several messages travel in one send: a send costs far more than a message. The
 * host believes nothing that it hears: it may come from user code.
 */
export type ToCell =
  | RunMessage
  | { readonly kind: 'abort'; readonly run: number; readonly reason: Revocation }
  | { readonly kind: 'saved'; readonly run: number; readonly outcome: SaveOutcome }
  | { readonly kind: 'check'; readonly check: number; readonly type: string; readonly payload: string }
  | { readonly kind: 'forget'; readonly check: number }
  /** To be answered once the registry's `flush` has ended. */
  | { readonly kind: 'flush'; readonly turn: number };

/** A handler's job as data. Payload and checkpoint are JSON text. */
export interface RunMessage extends Origin {
  readonly kind: 'run';
  readonly run: number;
  readonly slot: number;
  readonly pulseMs: number;
  readonly progressIntervalMs: number;
  readonly job: JobData;
  /** The payload travelled with this check already. */
  readonly checked?: number;
}

export interface JobData {
  readonly jobId: string;
  readonly type: string;
  /** Absent when it was checked here before. */
  readonly payload?: string;
  readonly checkpoint?: string;
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly releases: number;
  readonly createdAt: number;
  readonly trace?: TraceContext;
}

export type SaveOutcome = 'written' | 'lost' | { readonly failed: string };

export type FromCell =
  | { readonly kind: 'ready'; readonly types: readonly ({ readonly type: string } & JobOptions)[] }
  | { readonly kind: 'unloadable'; readonly text: string }
  | {
      readonly kind: 'ended';
      readonly run: number;
      readonly end: HandlerEnd;
    }
  /** It was withdrawn before it began. */
  | { readonly kind: 'unstarted'; readonly run: number }
  | ({ readonly kind: 'save'; readonly run: number } & Kept)
  | {
      readonly kind: 'checked';
      readonly check: number;
      readonly answer: Extract<PayloadCheck['kind'], 'accepted' | 'refused' | 'unanswered'>;
      readonly reason?: string;
    }
  | { readonly kind: 'flushed'; readonly turn: number };

/** Limits on what is heard: the row's own are checked again where it is written. */
export interface ChannelLimits {
  readonly maxResultBytes: number;
  readonly maxCheckpointBytes: number;
}

const MAX_TEXT = 64 * 1024;
const MAX_TYPES = 10_000;

type Fields = Readonly<Record<string, unknown>>;

/** Reads what a cell sent; whatever is not a message is left out. */
export function readFromCell(heard: unknown, limits: ChannelLimits): FromCell[] {
  if (!Array.isArray(heard)) return [];
  return heard.flatMap((each: unknown) => {
    const message = typeof each === 'object' && each !== null ? readOne(each as Fields, limits) : undefined;
    return message === undefined ? [] : [message];
  });
}

function readOne(said: Fields, limits: ChannelLimits): FromCell | undefined {
  switch (said.kind) {
    case 'ready': {
      const types = Array.isArray(said.types) && said.types.length <= MAX_TYPES ? said.types : [];
      return { kind: 'ready', types: types.flatMap(readType) };
    }
    case 'unloadable':
      return { kind: 'unloadable', text: text(said.text) ?? '' };
    case 'ended':
      return isCount(said.run) ? readEnd(said.run, said.end, limits) : undefined;
    case 'unstarted':
      return isCount(said.run) ? { kind: 'unstarted', run: said.run } : undefined;
    case 'save': {
      const checkpoint = text(said.checkpoint, limits.maxCheckpointBytes);
      const progress = text(said.progress, limits.maxCheckpointBytes);
      if (!isCount(said.run) || (checkpoint ?? progress) === undefined) return undefined;
      return { kind: 'save', run: said.run, checkpoint, progress };
    }
    case 'checked': {
      const { check, answer } = said;
      if (!isCount(check)) return undefined;
      if (answer !== 'accepted' && answer !== 'refused' && answer !== 'unanswered') return undefined;
      return { kind: 'checked', check, answer, reason: text(said.reason) };
    }
    case 'flushed':
      return isCount(said.turn) ? { kind: 'flushed', turn: said.turn } : undefined;
    default:
      return undefined;
  }
}

function readEnd(run: number, end: unknown, { maxResultBytes }: ChannelLimits): FromCell | undefined {
  const said = (typeof end === 'object' && end !== null ? end : {}) as Fields;
  if (said.kind === 'returned') {
    const result = text(said.result, maxResultBytes);
    const isKept = said.result === undefined || (result !== undefined && isJson(result));
    return { kind: 'ended', run, end: isKept ? { kind: 'returned', result } : UNREADABLE_RESULT };
  }
  const error = (typeof said.error === 'object' && said.error !== null ? said.error : {}) as Fields;
  if (said.kind !== 'threw') return undefined;
  return {
    kind: 'ended',
    run,
    end: {
      kind: 'threw',
      error: {
        text: text(error.text) ?? 'thrown value: unreadable',
        loggable: text(error.loggable) ?? 'unreadable',
        retryable: error.retryable !== false,
      },
    },
  };
}

const NOT_JSON = loggableError(new NotJsonError('result', undefined));
/** From a cell in which somebody replaced `JSON.stringify`, say. Left out, the run would have no end. */
const UNREADABLE_RESULT: HandlerEnd = {
  kind: 'threw',
  error: { text: NOT_JSON, loggable: NOT_JSON, retryable: true },
};

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The numbers of a type are checked with the settings afterwards, like those of any registry. */
function readType(said: unknown): ({ readonly type: string } & JobOptions)[] {
  if (typeof said !== 'object' || said === null) return [];
  const { type, ...options } = said as { type: unknown } & JobOptions;
  return typeof type === 'string' && type.length <= MAX_TEXT ? [{ type, ...options }] : [];
}

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value);

/** A string of at most so many bytes; longer ones are no message of ours, because a cell checks before it sends. */
const text = (value: unknown, limit = MAX_TEXT): string | undefined =>
  typeof value === 'string' && value.length <= limit && Buffer.byteLength(value) <= limit ? value : undefined;
