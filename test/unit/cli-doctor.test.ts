import { describe, expect, it } from 'vitest';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { rowAfter } from '../../lib/protocol/writes/evaluate.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { claimWrite, completeWrite, scheduleWrite } from '../../lib/protocol/writes/worker-writes.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { checkQueue } from '../../lib/tools/cli/doctor/check-queue.ts';
import { type RowCheck, type RowContext, rowChecks } from '../../lib/tools/cli/doctor/row-checks.ts';
import {
  checkClock,
  checkReaper,
  checkSettings,
  checkTable,
} from '../../lib/tools/cli/doctor/system-checks.ts';
import { byLease, byWait } from '../../lib/wire/table.ts';

const NOW = 1_800_000_000_000;
const at = { changedBy: 'w/1', now: NOW, shards: 8, expiresAt: NOW / 1000 };
const job = { jobId: 'j', type: 'email', payload: '1', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 };
const running = rowAfter(
  claimWrite({ job, owner: 'w/1', skewMs: 2000, typeLimits: defaultSettings }, at),
  undefined,
);
const pending = rowAfter(
  scheduleWrite(job, { notBefore: NOW, leaseUntil: NOW + 60_000, dispatches: 1 }, at),
  undefined,
);
const done = rowAfter(
  completeWrite({ jobId: 'j', owner: 'w/1', attempt: 1, startedAt: NOW }, undefined, at),
  running,
);
const context: RowContext = { now: NOW, settings: defaultSettings, changedBy: () => 'doctor/1' };
const without = (row: Row, ...names: string[]): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));

const {
  'rows that the index cannot see': unseenByTheIndex,
  'running rows without a lease': runningWithoutLease,
  'pending rows without a due hint': pendingWithoutDueHint,
  'finished rows out of place': finishedOutOfPlace,
  'attributes of the wrong type': unreadable,
} = rowChecks;

/** The row after the repair that the check proposes, written by the table itself. */
async function repaired(row: Row, check: RowCheck, meanwhile?: Row): Promise<Row | undefined> {
  const repair = check(row, context)?.repair;
  if (repair === undefined) throw new Error('no repair');
  const table = createMemoryTable();
  table.put(meanwhile ?? row);
  const { applied } = await table.apply(repair.write);
  return applied ? table.read(String(row.jobId)) : undefined;
}

describe('checks of rows', () => {
  it('find nothing wrong with rows that the protocol wrote', () => {
    for (const row of [running, pending, done])
      for (const [name, check] of Object.entries(rowChecks))
        expect([name, check(row, context)]).toEqual([name, undefined]);
  });

  it('find leases and due times that are absurdly far ahead', () => {
    const findings = (row: Row) =>
      Object.values(rowChecks).flatMap((check) => check(row, context)?.message ?? []);
    const longestMs = job.leaseMs + defaultSettings.skewMs;
    expect(findings({ ...running, leaseUntil: NOW + longestMs })).toEqual([]);
    expect(findings({ ...running, leaseUntil: NOW + longestMs + 1 })).toEqual([
      expect.stringMatching(/^'j' is leased for another .* clock is or was ahead/),
    ]);
    expect(findings({ ...running, leaseUntil: NOW + 400 * 86_400_000 })).toEqual([
      expect.stringMatching(/^'j' is leased for another 400 d/),
    ]);
    const far = NOW + 400 * 86_400_000;
    expect(findings({ ...pending, notBefore: far, leaseUntil: far })).toEqual([
      expect.stringMatching(/^'j' is due in 400 d; a message may ask for 365 d at most$/),
    ]);
  });

  it('find a running row without a lease, and give it to the queue with its attempt kept', async () => {
    for (const attribute of ['leaseUntil', 'leaseOwner']) {
      const row = without(running, attribute);
      expect(runningWithoutLease(row, context)?.message).toContain(`'${attribute}' is missing`);
      const mended = await repaired(row, runningWithoutLease);
      expect(mended).toMatchObject({
        status: 'pending',
        attempt: 1,
        leaseUntil: NOW + 60_000,
        changedBy: 'doctor/1',
      });
    }
  });

  it('find rows that no sweep reads: no lease end, no shard, a shard beyond the swept ones or of the other kind', async () => {
    for (const [row, message] of [
      [without(pending, 'leaseUntil'), "without 'leaseUntil'"],
      [without(pending, 'leaseShard'), "without 'leaseShard'"],
      [{ ...pending, leaseShard: 'q8' }, "partition 'q8'"],
      [{ ...pending, leaseShard: 'r1' }, "partition 'r1'"],
      [{ ...running, leaseShard: 'q1' }, "partition 'q1'"],
    ] as const) {
      expect(unseenByTheIndex(row, context)?.message).toContain(message);
      const mended = await repaired(row, unseenByTheIndex);
      expect(mended && unseenByTheIndex(mended, context)).toBeUndefined();
      expect(mended?.status).toBe('pending');
    }
    expect(unseenByTheIndex({ ...pending, leaseShard: 'q7' }, context)).toBeUndefined();
  });

  it('find a pending row whose next hint is further away than any hint may be', async () => {
    const cap = NOW + defaultSettings.dispatchLeaseCapMs;
    expect(pendingWithoutDueHint({ ...pending, leaseUntil: cap }, context)).toBeUndefined();
    const row = { ...pending, leaseUntil: cap + 1 };
    expect(pendingWithoutDueHint(row, context)?.message).toContain('its next hint is due 4 h');
    expect(await repaired(row, pendingWithoutDueHint)).toMatchObject({
      leaseUntil: NOW + 60_000,
      dispatches: 1,
    });
    const scheduled = { ...pending, notBefore: NOW + 86_400_000, leaseUntil: NOW + 86_400_000 };
    expect(pendingWithoutDueHint(scheduled, context)).toBeUndefined();
  });

  it('find a failed row that no list shows, and put it among the failures', async () => {
    const failed = { ...done, status: 'failed', finishedAt: NOW - 5, lastError: 'boom' };
    for (const row of [failed, { ...failed, leaseShard: 'r1', leaseUntil: NOW }]) {
      expect(finishedOutOfPlace(row, context)?.message).toContain('no list of failures shows it');
      const mended = await repaired(row, finishedOutOfPlace);
      expect(mended).toMatchObject({
        status: 'failed',
        leaseShard: expect.stringMatching(/^f[0-7]$/),
        leaseUntil: NOW - 5,
      });
      expect(finishedOutOfPlace(mended as Row, context)).toBeUndefined();
    }
  });

  it('accept a job without the terms of its type until its first claim', async () => {
    const unset = without(pending, 'leaseMs', 'maxAttempts', 'maxCrashes');
    for (const check of Object.values(rowChecks)) {
      expect(check(unset, context)).toBeUndefined();
      expect(
        check(
          { ...without(unset, 'leaseUntil'), status: 'cancelled', finishedAt: NOW, expiresAt: NOW / 1000 },
          context,
        ),
      ).toBeUndefined();
    }
    expect(unreadable(without(running, 'maxCrashes'), context)?.message).toContain("'maxCrashes' is missing");
  });

  it('fail what cannot be read, in a form that can be', async () => {
    for (const row of [
      { ...running, status: 'sleeping' },
      { ...running, checkpoint: 'not json' },
      { ...running, payload: { nested: true } },
      { ...without(running, 'attempt') },
      { ...running, attempt: '3' },
    ]) {
      expect(unreadable(row, context)?.next).toContain('fail');
      const failed = await repaired(row, unreadable);
      expect(parseJob(failed as Row)).toMatchObject({ status: 'failed', jobId: 'j' });
      expect(failed?.lastError).toContain('failed by doctor');
      expect(finishedOutOfPlace(failed as Row, context)).toBeUndefined();
    }
  });

  it('leave a job that has ended as it is, because a failed one could be revived', () => {
    expect(unreadable(without(done, 'finishedAt'), context)).toMatchObject({
      next: 'correct it by hand, or delete it',
      repair: undefined,
    });
  });
});

describe('checks of the system', () => {
  it('report every setting that is out of range or breaks a relation', () => {
    expect(checkSettings({})).toEqual([]);
    expect(
      checkSettings({ LEASEHOLD_LEASE_MS: '30000', LEASEHOLD_HEARTBEAT_MS: '20000' })[0]?.message,
    ).toContain('heartbeatMs (20000) must be at most a third of leaseMs (30000)');
    expect(checkSettings({ LEASEHOLD_LEESE_MS: '1' })[0]).toMatchObject({ severity: 'problem' });
    // The verdict tells it.
    expect(checkSettings({ LEASEHOLD_REAPER_ENABLED: 'false' })).toEqual([]);
  });

  it('report a clock that is off by more than half the skew, and only when that is certain', () => {
    const offset = (offsetMs: number) => ({ offsetMs, uncertaintyMs: 500, measuredAt: NOW });
    expect(checkClock(offset(1500), defaultSettings)).toEqual([]);
    expect(checkClock(offset(1501), defaultSettings)[0]?.message).toContain('ahead of');
    expect(checkClock(offset(-1501), defaultSettings)[0]?.message).toContain('behind');
    expect(checkClock(undefined, defaultSettings)[0]?.severity).toBe('warning');
  });

  it('report a table with the wrong indexes', () => {
    const index = (of: typeof byLease | typeof byWait) => ({
      name: of.name,
      partitionKey: of.partitionKey.name,
      sortKey: of.sortKey.name,
      projects: of.projects,
    });
    const table = { status: 'ACTIVE', rows: 0, bytes: 0, indexes: [index(byLease), index(byWait)] };
    expect(checkTable(table)).toEqual([]);
    expect(checkTable({ ...table, status: 'UPDATING' })).toHaveLength(1);
    expect(checkTable({ ...table, indexes: [] })[0]?.message).toContain("no index 'byLease'");
    const narrow = { ...index(byLease), sortKey: 'type', projects: ['status'] };
    expect(checkTable({ ...table, indexes: [narrow, index(byWait)] }).map(({ message }) => message)).toEqual([
      expect.stringContaining('it needs leaseShard, leaseUntil'),
      expect.stringContaining('does not project type, attempt'),
    ]);
  });

  it('report a number of shards that no reaper can sweep', () => {
    const leader = { jobId: 'leader:reaper', holder: 'r/1', term: 3, ledAt: NOW };
    for (const fine of [undefined, leader, { ...leader, shards: 8 }])
      expect(checkReaper(fine, defaultSettings)).toEqual([]);
    for (const shards of [100_000, 0, 1.5, '8'])
      expect(checkReaper({ ...leader, shards }, defaultSettings)[0]?.message).toContain(
        `has shards ${JSON.stringify(shards)}; allowed is a whole number from 1 to 256`,
      );
  });

  it('report a queue whose attributes break the protocol', () => {
    const DAY = 86_400_000;
    const queue = {
      ...{ arn: 'arn:aws:sqs:eu-west-1:1:q', visible: 0, inFlight: 0, delayed: 0, isFifo: false },
      ...{ visibilityTimeoutMs: 960_000, retentionMs: 4 * DAY, maxMessageBytes: 262_144 },
      redrive: { deadLetterArn: 'arn:aws:sqs:eu-west-1:1:dead', maxReceiveCount: 10 },
    };
    const dead = { ...queue, retentionMs: 14 * DAY };
    const message = (changes: object, deadChanges: object = {}) =>
      checkQueue({ ...queue, ...changes }, { ...dead, ...deadChanges }, defaultSettings).map(
        (finding) => finding.message,
      );
    expect(message({})).toEqual([]);
    expect(message({ visibilityTimeoutMs: 30_000 })).toEqual([
      expect.stringContaining('visibility timeout is 30 s'),
    ]);
    expect(message({ isFifo: true })).toEqual([expect.stringContaining('FIFO')]);
    expect(message({ maxMessageBytes: 1024 })).toEqual([expect.stringContaining('1024 bytes')]);
    expect(message({ redrive: undefined })).toEqual([expect.stringContaining('no dead-letter queue')]);
    expect(message({ redrive: { ...queue.redrive, maxReceiveCount: 3 } })).toEqual([
      expect.stringContaining('after 3 deliveries'),
    ]);
    expect(message({}, { retentionMs: 4 * DAY })).toEqual([
      expect.stringContaining('not longer than the queue itself'),
    ]);
    expect(message({}, { retentionMs: 15 * DAY })).toEqual([
      expect.stringContaining('as long as finished rows'),
    ]);
  });
});
