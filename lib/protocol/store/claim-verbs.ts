import { type ClaimOutcome, decideClaim } from '../decisions/decide-claim.ts';
import { inParallel } from '../in-parallel.ts';
import type { Job } from '../job.ts';
import type { ClaimRequest, JobStore } from '../ports.ts';
import { type DataPointer, MAX_INLINE_ROW_BYTES } from '../rows/data-pointer.ts';
import { isNewer, newerFormat, parseJob } from '../rows/parse-row.ts';
import { rowBytes } from '../rows/row-bytes.ts';
import { rowAfter } from '../writes/evaluate.ts';
import type { BatchResult, RowWrite, WriteResult } from '../writes/row-write.ts';
import {
  claimWrite,
  firstTermsWrite,
  type JobTerms,
  type NewJob,
  type StoredJob,
  scheduleWrite,
} from '../writes/worker-writes.ts';
import { grantedClaim } from './granted-claim.ts';
import { rejectVerb } from './reject-verb.ts';
import { lost, type StoreParts, wasApplied } from './store-parts.ts';

type Failure = { readonly outcome: 'failed'; readonly error: Error };

const WITH_DATA_AT_ONCE = 8;

interface PlannedClaim {
  readonly place: number;
  readonly write: RowWrite;
  readonly request: ClaimRequest;
  readonly known?: ReadonlyMap<string, string>;
}

/** What becomes of a message: a claim, a row for later, or a row that says why it cannot be run. */
export function claimVerbs(parts: StoreParts): Pick<JobStore, 'claim' | 'claimMany' | 'schedule' | 'reject'> {
  const { table, data, context } = parts;
  const writeFor = (job: ClaimRequest['job'] | StoredJob, owner: string) =>
    claimWrite({ job, owner, skewMs: parts.settings.skewMs }, context());
  const isNew = (job: ClaimRequest['job']): job is NewJob => 'payload' in job;
  const isSmall = (write: RowWrite) => rowBytes(rowAfter(write, undefined)) <= MAX_INLINE_ROW_BYTES;

  const claimWith = async (
    write: RowWrite,
    request: ClaimRequest,
    known?: ReadonlyMap<string, string>,
  ): Promise<ClaimOutcome> => judge(parts, write, await table.apply(write), request, known);

  /** A payload that would make the row too large is written first, to a row of its own. */
  const claimWithData = async (job: NewJob, request: ClaimRequest): Promise<ClaimOutcome> => {
    const { jobId } = job;
    if (request.again === true) {
      const outcome = await claimWith(writeFor({ jobId }, request.owner), request);
      if (outcome.outcome !== 'absent') return outcome;
    }
    const payload = await data.put({ jobId, name: 'payload', text: job.payload });
    const known = new Map([[payload.in, job.payload]]);
    return claimWith(writeFor({ ...job, payload }, request.owner), request, known);
  };

  return {
    claim(request) {
      const { job, owner } = request;
      const write = writeFor(job, owner);
      return isNew(job) && !isSmall(write) ? claimWithData(job, request) : claimWith(write, request);
    },

    async claimMany(requests) {
      const outcomes: (ClaimOutcome | Failure)[] = [];
      const ready: PlannedClaim[] = [];
      const large: { readonly place: number; readonly job: NewJob; readonly request: ClaimRequest }[] = [];
      for (const [place, request] of requests.entries()) {
        const { job, owner } = request;
        const write = writeFor(job, owner);
        if (isNew(job) && !isSmall(write)) large.push({ place, job, request });
        else ready.push({ place, write, request });
      }
      // Those that came before may have their data already, which only their own rows tell.
      const again = large.filter(({ request }) => request.again === true);
      const oneByOne = inParallel(again, WITH_DATA_AT_ONCE, async ({ place, job, request }) => {
        outcomes[place] = await claimWithData(job, request).catch(asFailure);
      });
      const fresh = large.filter(({ request }) => request.again !== true);
      const pointers = await data.putMany(
        fresh.map(({ job: { jobId, payload } }) => ({ jobId, name: 'payload', text: payload })),
      );
      for (const [i, { place, job, request }] of fresh.entries()) {
        const payload = pointers[i] as DataPointer | Error;
        if (payload instanceof Error) outcomes[place] = asFailure(payload);
        else
          ready.push({
            ...{ place, request, write: writeFor({ ...job, payload }, request.owner) },
            known: new Map([[payload.in, job.payload]]),
          });
      }
      const results = await table.applyMany(ready.map(({ write }) => write));
      await inParallel(
        [...ready.entries()],
        WITH_DATA_AT_ONCE,
        async ([i, { place, write, request, known }]) => {
          const result = results[i] as BatchResult;
          outcomes[place] =
            result.applied === 'failed'
              ? asFailure(result.error)
              : await judge(parts, write, result, request, known).catch(asFailure);
        },
      );
      await oneByOne;
      return outcomes;
    },

    async schedule(job, dispatch, again = false) {
      const inline = scheduleWrite(job, dispatch, context());
      const { notBefore } = dispatch;
      const there = again && !isSmall(inline) ? await table.read(job.jobId) : undefined;
      if (there !== undefined) return { outcome: 'exists', job: lost(there).job };
      const write = isSmall(inline)
        ? inline
        : scheduleWrite(
            {
              ...job,
              payload: await data.put({ jobId: job.jobId, name: 'payload', text: job.payload, notBefore }),
            },
            dispatch,
            context(),
          );
      const result = await table.apply(write);
      const row = result.applied ? parseJob(result.row) : lost(result.row).job;
      return row?.status === 'pending' && wasApplied(write, result)
        ? { outcome: 'written', job: row }
        : { outcome: 'exists', job: row };
    },

    reject: rejectVerb(parts),
  };
}

const asFailure = (error: unknown): Failure => ({ outcome: 'failed', error: error as Error });

/** Reads the outcome of a claim off the reply, and off the row where it was refused. */
async function judge(
  parts: StoreParts,
  write: RowWrite,
  result: WriteResult,
  { owner, termsOf }: Pick<ClaimRequest, 'owner' | 'termsOf'>,
  known?: ReadonlyMap<string, string>,
): Promise<ClaimOutcome> {
  const { table, clock, settings } = parts;
  const { row } = result;
  if (result.applied) return grantedClaim(parts, result.row, known);
  if (row === undefined) return { outcome: 'absent' };
  if (isNewer(row)) return { outcome: 'newer', error: newerFormat(row) };
  const outcome = decideClaim(parseJob(row), { owner, now: clock.now(), skewMs: settings.skewMs });
  if (outcome.outcome === 'claimed') return grantedClaim(parts, row, known);
  if (outcome.outcome !== 'contended' || !Array.isArray(row.defaultTerms)) return outcome;
  const terms = replacing(row.defaultTerms, termsOf?.(outcome.job.type) ?? settings, outcome.job);
  const again = firstTermsWrite(write, { attempt: outcome.job.attempt, terms }, parts.context());
  return judge(parts, again, await table.apply(again), { owner }, known);
}

/** The type's terms for those that the row has only from the settings; the budgets must still fit each other. */
function replacing(
  names: readonly unknown[],
  { leaseMs, maxAttempts, maxCrashes }: JobTerms,
  job: Pick<Job, 'maxAttempts'>,
): Partial<JobTerms> {
  const most = names.includes('maxAttempts') ? maxAttempts : job.maxAttempts;
  const all = { leaseMs, maxAttempts, maxCrashes: Math.min(maxCrashes, most) };
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
}
