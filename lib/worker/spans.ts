import type { Attributes, ContextManager, Link, Span, SpanContext, TracerProvider } from '@opentelemetry/api';
import { isTraceparent, type TraceContext } from '../wire/trace.ts';
import { readOr } from './describe-error.ts';

/** Where all copies of @opentelemetry/api 1.x share what the application registered; a bundle may contain a copy we cannot import. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');
const ACTIVE_SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

/** The API's enumerations. */
const CLIENT = 2;
const PRODUCER = 3;
const CONSUMER = 4;
const FAILED = 2;

const KINDS = { send: PRODUCER, receive: CLIENT, process: CONSUMER, settle: CLIENT } as const;

interface Described {
  readonly operation: keyof typeof KINDS;
  readonly name: 'send' | 'claim' | 'run' | 'end';
  readonly job: {
    readonly type?: string;
    readonly jobId?: string;
    readonly attempt?: number;
    readonly trace?: TraceContext;
  };
  readonly count?: number;
  /** @default - now */
  readonly startedAt?: number;
}

interface Failure {
  readonly type: string;
  readonly message?: string;
}

interface OpenSpan {
  within<Result>(run: () => Result): Result;
  end(failure?: Failure, attributes?: Attributes): void;
}

const NO_SPAN: OpenSpan = { within: (run) => run(), end() {} };

/** Uses the application's OpenTelemetry SDK, if any. A broken SDK must not fail a job. */
export const openSpan = (described: Described): OpenSpan => readOr(NO_SPAN, () => open(described));

export const recordSpan = (described: Described, failure?: Failure, attributes?: Attributes): void =>
  openSpan(described).end(failure, attributes);

function open({ operation, name, job, count, startedAt }: Described): OpenSpan {
  const api = registered();
  if (api === undefined) return NO_SPAN;
  const around = api.context.active();
  const active = spanContextOf(around.getValue(ACTIVE_SPAN));
  const creation = parseTraceparent(job.trace?.traceparent);
  const links: Link[] = [creation, operation !== 'send' && creation !== undefined ? active : undefined]
    .filter((context) => context !== undefined)
    .map((context) => ({ context }));
  // All spans of a job are in the trace of its `send`.
  const parent =
    operation === 'send' || creation === undefined ? around : around.setValue(ACTIVE_SPAN, remote(creation));
  const attributes: Attributes = {
    'messaging.system': 'leasehold',
    'messaging.operation.type': operation,
    'messaging.operation.name': name,
    'messaging.destination.name': job.type,
    'messaging.message.id': job.jobId,
    'messaging.batch.message_count': count,
    'leasehold.attempt': job.attempt,
  };
  const options = { kind: KINDS[operation], attributes, links, startTime: startedAt && new Date(startedAt) };
  const title = job.type === undefined ? name : `${name} ${job.type}`;
  const span = api.trace.getTracer('leasehold').startSpan(title, options, parent);
  return {
    within: (run) => api.context.with(parent.setValue(ACTIVE_SPAN, span), run),
    end: (failure, more) =>
      readOr(undefined, () => {
        if (more !== undefined) span.setAttributes(more);
        if (failure !== undefined)
          span.setAttribute('error.type', failure.type).setStatus({ code: FAILED, message: failure.message });
        span.end();
      }),
  };
}

export const activeTraceparent = (): string | undefined =>
  readOr(undefined, () => {
    const active = spanContextOf(registered()?.context.active().getValue(ACTIVE_SPAN));
    if (active === undefined) return undefined;
    const flags = active.traceFlags.toString(16).padStart(2, '0');
    const traceparent = `00-${active.traceId}-${active.spanId}-${flags}`;
    return isTraceparent(traceparent) ? traceparent : undefined;
  });

/** Without a context manager, spans cannot nest. */
function registered(): { readonly trace: TracerProvider; readonly context: ContextManager } | undefined {
  const shared = globalThis as { [REGISTERED]?: { trace?: TracerProvider; context?: ContextManager } };
  const { trace, context } = shared[REGISTERED] ?? {};
  return trace && context && { trace, context };
}

const spanContextOf = (span: unknown): SpanContext | undefined => (span as Span | undefined)?.spanContext();

function parseTraceparent(traceparent: string | undefined): SpanContext | undefined {
  if (!isTraceparent(traceparent)) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

/** The SDK reads only the context of a remote parent. */
const remote = (context: SpanContext): Pick<Span, 'spanContext' | 'isRecording'> => ({
  spanContext: () => context,
  isRecording: () => false,
});
