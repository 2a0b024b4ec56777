import type { BatchPick, Fault, SeenRequest } from './faults.ts';

type Json = Readonly<Record<string, unknown>>;

/** What the engine is asked instead (nothing if every member fails), and how its reply reaches the client. */
export type PartialBatch = {
  readonly ask: Json | undefined;
  readonly answer: (reply: Json) => Json;
};

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value : []);

function chosen(which: BatchPick, size: number, request: SeenRequest): ReadonlySet<number> {
  if (!('share' in which)) return new Set(which);
  const positions = Array.from({ length: size }, (_, position) => position);
  return new Set(positions.filter(() => request.random.chance(which.share)));
}

function failStatements(request: SeenRequest, fault: Extract<Fault, { kind: 'failSome' }>): PartialBatch {
  const statements = list(request.body.Statements);
  const failing = chosen(fault.which, statements.length, request);
  const kept = fault.applied ? statements : statements.filter((_, position) => !failing.has(position));
  const refused = { Code: fault.code ?? 'InternalServerError', Message: 'failed by the fault proxy' };
  const answer = (reply: Json): Json => {
    const responses = [...list(reply.Responses)];
    const Responses = statements.map((_, position) => {
      const fails = failing.has(position);
      const response = fails && !fault.applied ? undefined : responses.shift();
      return fails ? { Error: refused } : response;
    });
    return { ...reply, Responses };
  };
  return { ask: kept.length === 0 ? undefined : { ...request.body, Statements: kept }, answer };
}

function failEntries(request: SeenRequest, fault: Extract<Fault, { kind: 'failSome' }>): PartialBatch {
  const entries = list(request.body.Entries);
  const positions = chosen(fault.which, entries.length, request);
  const failing = new Set(entries.filter((_, position) => positions.has(position)).map((entry) => entry.Id));
  const kept = fault.applied ? entries : entries.filter((entry) => !failing.has(entry.Id));
  const failures = [...failing].map((Id) => ({
    Id,
    Code: fault.code ?? 'InternalError',
    Message: 'failed by the fault proxy',
    SenderFault: false,
  }));
  const answer = (reply: Json): Json => ({
    ...reply,
    Successful: list(reply.Successful).filter((entry) => !failing.has(entry.Id)),
    Failed: [...list(reply.Failed).filter((entry) => !failing.has(entry.Id)), ...failures],
  });
  return { ask: kept.length === 0 ? undefined : { ...request.body, Entries: kept }, answer };
}

/** Makes some members of a batch fail; throws for a request that is not a batch, since the rule is then wrong. */
export function failSome(request: SeenRequest, fault: Extract<Fault, { kind: 'failSome' }>): PartialBatch {
  if (request.operation === 'BatchExecuteStatement') return failStatements(request, fault);
  if (/Message(Visibility)?Batch$/.test(request.operation)) return failEntries(request, fault);
  throw new Error(
    `The fault failSome fits batches, not ${request.operation}. Narrow the rule down to batches.`,
  );
}
