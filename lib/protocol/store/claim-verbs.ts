import { type ClaimOutcome, decideClaim } from '../decisions/decide-claim.ts';
import { NewerFormatError } from '../errors.ts';
import { inParallel } from '../in-parallel.ts';
import type { ClaimRequest, Failure, JobStore, ScheduleOutcome, SchedulePlan } from '../ports.ts';
import { type DataPointer, MAX_INLINE_ROW_BYTES } from '../rows/data-pointer.ts';
import { formatProblem, parseJob } from '../rows/parse-row.ts';
import { rowBytes } from '../rows/row-bytes.ts';
import { rowAfter } from '../writes/evaluate.ts';
import type { BatchResult, RowWrite, WriteResult } from '../writes/row-write.ts';
import { claimWrite, type NewJob, scheduleWrite } from '../writes/worker-writes.ts';
import { grantedClaim } from './granted-claim.ts';
import { rejectVerb } from './reject-verb.ts';
import { asFailure, lost, type StoreParts, wasApplied } from './store-parts.ts';

const WITH_DATA_AT_ONCE = 8;

export function claimVerbs(
  parts: StoreParts,
): Pick<JobStore, 'claim' | 'claimMany' | 'schedule' | 'scheduleMany' | 'reject'> {
  const { table, data, context, settings } = parts;
  const writeFor = (
    job: Parameters<typeof claimWrite>[0]['job'],
    { owner, group, typeLimits = settings }: ClaimRequest,
  ) => claimWrite({ job, owner, group, typeLimits, skewMs: settings.skewMs }, context());
  const isNew = (job: ClaimRequest['job']): job is NewJob => 'payload' in job;
  const isSmall = (write: RowWrite, row = rowAfter(write, undefined)) =>
    rowBytes(row) <= MAX_INLINE_ROW_BYTES;

  const claim: JobStore['claim'] = async (request) => {
    const { job } = request;
    const write = writeFor(job, request);
    if (!isNew(job) || isSmall(write)) return interpretReply(parts, await table.apply(write), request);
    const { jobId, type, payload: text } = job;
    if (request.redelivered === true) {
      // Its data may be stored already, and only the row shows that.
      const outcome = await interpretReply(
        parts,
        await table.apply(writeFor({ jobId, type }, request)),
        request,
      );
      if (outcome.outcome !== 'absent') return outcome;
    }
    const payload = await data.put({ jobId, name: 'payload', text });
    const result = await table.apply(writeFor({ ...job, payload }, request));
    return interpretReply(parts, result, request, new Map([[payload.in, text]]));
  };

  const schedule: JobStore['schedule'] = async (job, dispatch, { redelivered = false, waitsFor } = {}) => {
    const inline = scheduleWrite(job, dispatch, context(), waitsFor);
    if (isSmall(inline)) return scheduled(inline, await table.apply(inline));
    const there = redelivered ? await table.read(job.jobId) : undefined;
    if (there !== undefined) return { outcome: 'exists', job: lost(there).job };
    const { jobId, payload: text } = job;
    const payload = await data.put({ jobId, name: 'payload', text, notBefore: dispatch.notBefore });
    const write = scheduleWrite({ ...job, payload }, dispatch, context(), waitsFor);
    return scheduled(write, await table.apply(write));
  };

  return {
    claim,

    async claimMany(requests) {
      const outcomes: (ClaimOutcome | Failure)[] = [];
      const ready: { place: number; write: RowWrite; payloadCache?: ReadonlyMap<string, string> }[] = [];
      const redelivered: number[] = [];
      const large: { readonly place: number; readonly job: NewJob }[] = [];
      const requestAt = (place: number) => requests[place] as ClaimRequest;
      for (const [place, request] of requests.entries()) {
        const { job } = request;
        const write = writeFor(job, request);
        const creates = isNew(job) ? rowAfter(write, undefined) : undefined;
        if (!isNew(job) || isSmall(write, creates)) ready.push({ place, write: { ...write, creates } });
        else if (request.redelivered === true) redelivered.push(place);
        else large.push({ place, job });
      }
      const oneByOne = inParallel(redelivered, WITH_DATA_AT_ONCE, async (place) => {
        outcomes[place] = await claim(requestAt(place)).catch(asFailure);
      });
      const pointers = await data.putMany(
        large.map(({ job: { jobId, payload } }) => ({ jobId, name: 'payload', text: payload })),
      );
      for (const [i, { place, job }] of large.entries()) {
        const payload = pointers[i] as DataPointer | Error;
        if (payload instanceof Error) outcomes[place] = asFailure(payload);
        else {
          const payloadCache = new Map([[payload.in, job.payload]]);
          ready.push({ place, payloadCache, write: writeFor({ ...job, payload }, requestAt(place)) });
        }
      }
      const results = await table.applyMany(ready.map(({ write }) => write));
      await inParallel([...ready.entries()], WITH_DATA_AT_ONCE, async ([i, { place, payloadCache }]) => {
        const result = results[i] as BatchResult;
        outcomes[place] =
          result.applied === 'failed'
            ? asFailure(result.error)
            : await interpretReply(parts, result, requestAt(place), payloadCache).catch(asFailure);
      });
      await oneByOne;
      return outcomes;
    },

    schedule,

    async scheduleMany(plans) {
      const outcomes: (ScheduleOutcome | Failure)[] = [];
      const small: { readonly place: number; readonly write: RowWrite }[] = [];
      const large: number[] = [];
      for (const [place, { job, dispatch, waitsFor }] of plans.entries()) {
        const write = scheduleWrite(job, dispatch, context(), waitsFor);
        if (isSmall(write)) small.push({ place, write });
        else large.push(place);
      }
      const oneByOne = inParallel(large, WITH_DATA_AT_ONCE, async (place) => {
        const { job, dispatch, ...options } = plans[place] as SchedulePlan;
        outcomes[place] = await schedule(job, dispatch, options).catch(asFailure);
      });
      const results = await table.applyMany(small.map(({ write }) => write));
      for (const [i, { place, write }] of small.entries()) {
        const result = results[i] as BatchResult;
        outcomes[place] = result.applied === 'failed' ? asFailure(result.error) : scheduled(write, result);
      }
      await oneByOne;
      return outcomes;
    },

    reject: rejectVerb(parts),
  };
}

function scheduled(write: RowWrite, result: WriteResult): ScheduleOutcome {
  const row = result.applied ? parseJob(result.row) : lost(result.row).job;
  return row?.status === 'pending' && wasApplied(write, result)
    ? { outcome: 'written', job: row }
    : { outcome: 'exists', job: row };
}

async function interpretReply(
  parts: StoreParts,
  result: WriteResult,
  { owner }: Pick<ClaimRequest, 'owner'>,
  payloadCache?: ReadonlyMap<string, string>,
): Promise<ClaimOutcome> {
  const { clock, settings } = parts;
  const { row } = result;
  if (result.applied) return grantedClaim(parts, result.row, payloadCache);
  if (row === undefined) return { outcome: 'absent' };
  const error = formatProblem(row);
  if (error instanceof NewerFormatError) return { outcome: 'newer', error };
  const outcome = decideClaim(parseJob(row), { owner, now: clock.now(), skewMs: settings.skewMs });
  return outcome.outcome === 'claimed' ? grantedClaim(parts, row, payloadCache) : outcome;
}
