import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { BadRowError, NewerFormatError } from '../../lib/protocol/errors.ts';
import type { JobStore } from '../../lib/protocol/ports.ts';
import { parseJob, parseLeaseEntry } from '../../lib/protocol/rows/parse-row.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { defaultSettings as settings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../lib/testing/fake-random.ts';
import { LeaseholdError } from '../../lib/wire/leasehold-error.ts';
import { fuzzRuns } from '../support/fuzz-runs.ts';
import { memoryStore } from '../support/memory-store.ts';
import { silentEvents, silentTelemetry } from '../support/silent-ports.ts';

const JOB = { jobId: 'job-1', type: 'x', payload: '1', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 };
const CLAIM = { jobId: 'job-1', owner: 'w/1', attempt: 1, startedAt: createFakeClock().now() };

function setUp() {
  const { memory: table, clock, store } = memoryStore();
  return { table, clock, store, dispatch: planDispatch(clock.now(), clock.now(), settings) };
}

type Path = 'scheduled' | 'running' | 'retried' | 'done' | 'failed' | 'cancelled' | 'revived';

/** A row as the protocol itself leaves it. */
async function rowOf(path: Path): Promise<Row> {
  const { table, store, dispatch } = setUp();
  if (path === 'scheduled') await store.schedule(JOB, dispatch);
  else await store.claim({ job: JOB, owner: CLAIM.owner });
  await store.checkpoint(CLAIM, { seq: 1, checkpoint: { at: 3 }, progress: 0.5 });
  if (path === 'retried') await store.retry(CLAIM, { errors: 1, lastError: 'broken', dispatch });
  if (path === 'done') await store.complete(CLAIM, { ok: true });
  if (path === 'failed') await store.fail(CLAIM, { errors: 1, lastError: 'broken' });
  if (path === 'cancelled' || path === 'revived') {
    await store.cancel(JOB.jobId);
    await store.cancelRunning(CLAIM);
  }
  if (path === 'revived') await store.revive(JOB.jobId);
  return table.rows()[0] as Row;
}

const paths: Path[] = ['scheduled', 'running', 'retried', 'done', 'failed', 'cancelled', 'revived'];
const sound = new Map(await Promise.all(paths.map(async (path) => [path, await rowOf(path)] as const)));

/** What DynamoDB could hand back for an attribute, besides what belongs there. */
const stored = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(-1, 0, 0.5, 2 ** 60, '', '1', 'running', 'pending', null, true, [], {}, 'null', '{'),
  fc.uint8Array({ maxLength: 4 }),
  fc.bigInt(),
  fc.constant(new Set(['a'])),
);

/** A sound row with some attributes dropped or replaced. */
const damaged = fc
  .constantFrom(...paths)
  .chain((path) => {
    const row = sound.get(path) as Row;
    const names = [...Object.keys(row).filter((name) => name !== 'jobId'), 'foreign', 'claim07', 'rawText'];
    return fc.tuple(
      fc.constant(row),
      fc.subarray(names, { minLength: 1, maxLength: 3 }),
      fc.array(fc.option(stored, { nil: undefined }), { minLength: 3, maxLength: 3 }),
    );
  })
  .map(([row, names, values]): Row => {
    const changed: Record<string, unknown> = { ...row };
    for (const [i, name] of names.entries()) {
      if (values[i] === undefined) delete changed[name];
      else changed[name] = values[i];
    }
    return changed;
  });

/** Undefined where the row was refused; anything but a refusal that names the row fails the test. */
function readOrRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BadRowError || error instanceof NewerFormatError)) throw error;
    expect(error.message).toContain('job-1');
    return undefined;
  }
}

const verbs: Record<string, (store: JobStore, fixture: ReturnType<typeof setUp>) => Promise<unknown>> = {
  claim: (store) => store.claim({ job: JOB, owner: 'w/2' }),
  hinted: (store) => store.claim({ job: { jobId: JOB.jobId }, owner: 'w/2' }),
  schedule: (store, { dispatch }) => store.schedule(JOB, dispatch),
  heartbeat: (store, { clock }) => store.heartbeat(CLAIM, clock.now() + 60_000),
  checkpoint: (store) => store.checkpoint(CLAIM, { seq: 2, checkpoint: 1 }),
  complete: (store) => store.complete(CLAIM),
  retry: (store, { dispatch }) => store.retry(CLAIM, { errors: 1, lastError: 'x', dispatch }),
  release: (store, { dispatch }) => store.release(CLAIM, { errors: 0, releases: 1, dispatch }),
  releaseUnknown: (store, { dispatch }) => store.releaseUnknown(JOB.jobId, CLAIM.owner, dispatch),
  cancel: (store) => store.cancel(JOB.jobId),
  revive: (store) => store.revive(JOB.jobId),
  takeBack: (store) => store.takeBack(JOB.jobId),
  read: (store) => store.read(JOB.jobId),
};

describe('a row edited by hand', () => {
  it('is read as a job or refused by name', () => {
    fc.assert(
      fc.property(damaged, (row) => {
        const job = readOrRefused(() => parseJob(row));
        if (job !== undefined) expect(Number.isSafeInteger(job.attempt)).toBe(true);
      }),
      fuzzRuns(1500),
    );
  });

  it('gives the reaper an entry that it can decide from, or is refused by name', () => {
    fc.assert(
      fc.property(damaged, fc.integer({ min: 0, max: 2 ** 45 }), (row, now) => {
        const entry = readOrRefused(() => parseLeaseEntry(row));
        if (entry === undefined) return;
        const verdict = decideReap(entry, { now, random: 0.5, settings });
        if ('dispatch' in verdict) expect(Number.isFinite(verdict.dispatch.leaseUntil)).toBe(true);
        if ('lapses' in verdict) expect(Number.isFinite(verdict.lapses)).toBe(true);
      }),
      fuzzRuns(1000),
    );
  });

  it('makes each verb return an outcome or throw a typed error', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, fc.constantFrom(...Object.keys(verbs)), async (row, verb) => {
        const fixture = setUp();
        fixture.table.put(row);
        try {
          await verbs[verb]?.(fixture.store, fixture);
        } catch (error) {
          if (!(error instanceof LeaseholdError)) throw error;
        }
      }),
      fuzzRuns(1500),
    );
  });

  it('never keeps a sweep from reclaiming other rows', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async (row) => {
        const { table, clock, store } = setUp();
        table.put(row);
        await store.claim({ job: { ...JOB, jobId: 'neighbour' }, owner: 'w/9' });
        await clock.advance(10 * 60_000);
        const queue = {
          sendHints: async (hints: readonly unknown[]) => ({ sent: hints.length, failed: [] }),
        };
        await sweep({
          ...{ table, store, queue, clock, random: createFakeRandom(), settings },
          ...{ telemetry: silentTelemetry, events: silentEvents },
        });
        expect(await store.read('neighbour')).toMatchObject({ status: 'pending', lapses: 1 });
      }),
      fuzzRuns(250),
    );
  });
});
