import { failSome } from './failing-batches.ts';
import type { Fault, SeenRequest } from './faults.ts';
import type { Age } from './past-replies.ts';
import { type Reply, refusal } from './upstream.ts';

type Json = Readonly<Record<string, unknown>>;

/** Faults of time, any number of which can meet one request. */
export type Timing = Extract<Fault, { kind: 'delay' | 'hold' | 'shiftDate' }>;

/** Faults that decide what becomes of a request: it has one at most. */
export type ReplyFault = Exclude<Fault, Timing>;

/** What the client gets: a reply, a connection that breaks, or one that stays open without a word. */
export type Result = Reply | 'cut' | 'silent';

/** The engine as outcomes use it, for one request. */
export type ProxiedEngine = {
  ask(body: Json): Promise<Reply>;
  pastReply(age: Age): Json | undefined;
};

/** Tells faults of time from those that decide the outcome. */
export const isTiming = (fault: Fault): fault is Timing =>
  fault.kind === 'delay' || fault.kind === 'hold' || fault.kind === 'shiftDate';

/** The reply with another body; the checksum of the old one must not go with it. */
function rewritten(reply: Reply, change: (json: Json) => Json): Reply {
  const { 'x-amz-crc32': _checksum, ...headers } = reply.headers;
  return { ...reply, headers, body: Buffer.from(JSON.stringify(change(JSON.parse(reply.body.toString())))) };
}

async function partialBatch(
  request: SeenRequest,
  fault: Extract<Fault, { kind: 'failSome' }>,
  engine: ProxiedEngine,
): Promise<Reply> {
  const batch = failSome(request, fault);
  const reply = batch.ask === undefined ? refusal(request.service, 200) : await engine.ask(batch.ask);
  return reply.status === 200 ? rewritten(reply, batch.answer) : reply;
}

async function staleReply(request: SeenRequest, age: Age, engine: ProxiedEngine): Promise<Reply> {
  const past = engine.pastReply(age);
  // The engine is asked all the same, so that what is remembered moves on and staleness stays bounded.
  const reply = await engine.ask(request.body);
  return past === undefined ? reply : rewritten(reply, () => past);
}

/** Carries one request out, or not, as its fault demands. */
export async function carryOut(
  request: SeenRequest,
  fault: ReplyFault | undefined,
  engine: ProxiedEngine,
): Promise<Result> {
  switch (fault?.kind) {
    case undefined:
      return engine.ask(request.body);
    case 'reset':
      return 'cut';
    case 'dropReply':
      await engine.ask(request.body);
      return 'cut';
    case 'silence':
      if (fault.applied) await engine.ask(request.body);
      return 'silent';
    case 'throttle':
      return refusal(
        request.service,
        400,
        request.service === 'sqs'
          ? 'RequestThrottled'
          : (fault.code ?? 'ProvisionedThroughputExceededException'),
      );
    case 'serverError':
      if (fault.applied) await engine.ask(request.body);
      return refusal(request.service, fault.status ?? 500, 'InternalServerError');
    case 'failSome':
      return partialBatch(request, fault, engine);
    case 'staleReply':
      return staleReply(request, fault, engine);
  }
}
