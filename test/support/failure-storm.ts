import { backoffMs } from '../../lib/protocol/decisions/backoff.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import type { Claim } from '../../lib/protocol/job.ts';
import { failedShard, pendingShard, runningShard } from '../../lib/protocol/shards.ts';
import { rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import {
  claimWrite,
  failWrite,
  heartbeatWrite,
  retryWrite,
} from '../../lib/protocol/writes/worker-writes.ts';
import { HEART_JITTER } from '../../lib/settings/heartbeat-timing.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { byLease } from '../../lib/wire/table.ts';
import { newJob } from './jobs.ts';
import { seededRandom } from './random.ts';

/** The keys of the index under many failures: jobs that run and beat, beside jobs that each spend all of their attempts. */
interface FailureStorm {
  readonly failures: number;
  readonly withinMs: number;
  readonly running: number;
  readonly shards: number;
}

type Kind = 'r' | 'q' | 'f';

/** What one write puts into the index and takes out of it: an entry is below 1 KB, so each costs one unit. */
function touched(before: Row | undefined, after: Row): Kind[] {
  const entry = (row: Row | undefined) => (row?.leaseUntil === undefined ? undefined : row);
  const [old, now] = [entry(before), entry(after)];
  const kind = (row: Row) => String(row.leaseShard)[0] as Kind;
  const keys = ['leaseShard', 'leaseUntil'];
  if (old !== undefined && now !== undefined && keys.every((name) => old[name] === now[name]))
    return byLease.projects.some((name) => old[name] !== now[name]) ? [kind(now)] : [];
  return [old, now].flatMap((row) => (row === undefined ? [] : [kind(row)]));
}

/** The touches of a job that fails at every attempt, by the real writes: attempt by attempt. */
function touchesOfFailure(maxAttempts: number): { readonly begin: Kind[]; readonly end: Kind[] }[] {
  const context = { changedBy: 'w/1', now: 0, shards: 1, expiresAt: 1 };
  const dispatch = planDispatch(1, 1, defaultSettings);
  let row: Row | undefined;
  const write = (each: RowWrite): Kind[] => {
    const before = row;
    row = rowAfter(each, before);
    return touched(before, row);
  };
  return Array.from({ length: maxAttempts }, (_, i) => {
    const job = newJob('storm', { maxAttempts });
    const begin = write(
      claimWrite({ job, owner: `w/${i}`, skewMs: 0, typeLimits: defaultSettings }, context),
    );
    const claim: Claim = { jobId: 'storm', owner: `w/${i}`, attempt: i + 1, startedAt: 0 };
    const errors = i + 1;
    const end = write(
      errors < maxAttempts
        ? retryWrite(claim, { errors, lastError: 'no', dispatch }, context)
        : failWrite(claim, { errors, lastError: 'no' }, context),
    );
    return { begin, end };
  });
}

function touchesOfBeat(): Kind[] {
  const context = { changedBy: 'w/1', now: 0, shards: 1, expiresAt: 1 };
  const claimed = rowAfter(
    claimWrite({ job: newJob('beats'), owner: 'w/1', skewMs: 0, typeLimits: defaultSettings }, context),
    undefined,
  );
  const claim: Claim = { jobId: 'beats', owner: 'w/1', attempt: 1, startedAt: 0 };
  return touched(claimed, rowAfter(heartbeatWrite(claim, 90_000, context), claimed));
}

/** The highest write units in one second of any key, by the kind of its shard. */
function highestUnits({ failures, withinMs, running, shards }: FailureStorm): Record<Kind, number> {
  const { maxAttempts, heartbeatMs, backoffBaseMs, backoffCapMs } = defaultSettings;
  const random = seededRandom(7);
  const tailMs = 3_600_000;
  const seconds = Math.ceil((withinMs + tailMs) / 1000);
  const units = new Map<string, Uint32Array>();
  const spend = (kinds: readonly Kind[], jobId: string, at: number) => {
    for (const kind of kinds) {
      const shard = { r: runningShard, q: pendingShard, f: failedShard }[kind](jobId, shards);
      const ofKey = units.get(shard) ?? new Uint32Array(seconds);
      units.set(shard, ofKey);
      const second = Math.min(seconds - 1, Math.floor(at / 1000));
      ofKey[second] = (ofKey[second] ?? 0) + 1;
    }
  };
  const id = () => `${random.integer(0, 1e9)}-${random.integer(0, 1e9)}`;
  const attempts = touchesOfFailure(maxAttempts);
  for (let i = 0; i < failures; i++) {
    const jobId = id();
    let at = random.next() * withinMs;
    for (const [n, { begin, end }] of attempts.entries()) {
      spend(begin, jobId, at);
      at += 1000 * random.next();
      spend(end, jobId, at);
      at += backoffMs(n + 1, { baseMs: backoffBaseMs, capMs: backoffCapMs }, random.next());
    }
  }
  const beat = touchesOfBeat();
  for (let i = 0; i < running; i++) {
    const jobId = id();
    for (
      let at = random.next() * heartbeatMs;
      at < withinMs;
      at += heartbeatMs * (1 - HEART_JITTER * random.next())
    )
      spend(beat, jobId, at);
  }
  const highest = (kind: Kind) =>
    Math.max(
      0,
      ...[...units].filter(([shard]) => shard.startsWith(kind)).map(([, each]) => Math.max(...each)),
    );
  return { r: highest('r'), q: highest('q'), f: highest('f') };
}

/** Storms of failures, with the write units of the busiest key in its busiest second. */
export const failureStorms: readonly (FailureStorm & Record<Kind, number>)[] = [
  { failures: 100_000, withinMs: 3_600_000, running: 1000, shards: 8 },
  { failures: 100_000, withinMs: 600_000, running: 1000, shards: 8 },
  { failures: 100_000, withinMs: 3_600_000, running: 1000, shards: 1 },
].map((storm) => ({ ...storm, ...highestUnits(storm) }));
