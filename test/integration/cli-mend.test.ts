import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { scheduleNext } from '../../lib/protocol/store/reaper-row.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { type CliSystem, createCliSystem } from '../support/cli.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';

interface Diagnosis {
  results: {
    check: string;
    outcome: string;
    findings?: { message: string; jobId?: string; repairable: boolean }[];
  }[];
  repaired?: { jobId: string; outcome: string }[];
}

describeOnOneEngine('mending', (engine) => {
  let system: CliSystem;
  beforeEach(async () => {
    system = await createCliSystem(engine);
  });
  afterEach(() => system.close());

  const aReaperRan = async () => {
    const parts = { table: system.table, clock: systemClock, settings: { shards: 8 } };
    const now = systemClock.now();
    const promised = { wakeAt: now + 12_000, holder: 'reaper/1', term: 1, gaugedAt: now, wholeAt: now };
    await scheduleNext(parts, { wake: 'w', ...promised }, undefined);
  };
  /** A row as a claim left it, with some attributes changed or (undefined) removed by hand. */
  const edited = async (jobId: string, changes: Row) => {
    await system.store.claim({ job: newJob(jobId, { type: 'email' }), owner: `worker-a/${jobId}` });
    const row = { ...(await system.table.read(jobId)), ...changes };
    await system.put(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)));
  };
  const hints = async () => {
    const seen: string[] = [];
    for (let left = 3; left > 0; left--) {
      const reply = await system.sqs.send(
        new ReceiveMessageCommand({ QueueUrl: system.queueUrl, MaxNumberOfMessages: 10 }),
      );
      seen.push(...(reply.Messages ?? []).map((message) => message.Body ?? ''));
    }
    return seen.sort();
  };

  describe('doctor', () => {
    it('finds no problems where there are none', async () => {
      await aReaperRan();
      await system.store.claim({ job: newJob('fine', { type: 'email' }), owner: 'worker-a/1' });
      const run = await system.run(['doctor']);
      expect(run.stdout).toContain('no problems');
      expect(run.stdout).not.toMatch(/✗|\?/);
      expect(run.stderr).toMatch(/Reading the whole table: about \d+ rows?/);
      expect(run.code).toBe(0);
    });

    it('finds rows that were edited by hand, says what it would write, and writes it only when told', async () => {
      await aReaperRan();
      await edited('no-lease', { leaseUntil: undefined });
      await edited('lost-shard', { status: 'pending', leaseShard: 'q99', notBefore: 0, dispatches: 1 });
      await edited('text-number', { errors: '2' });
      await edited('beyond-help', { status: 'sleeping' });
      const found = await system.run(['doctor', '--json']);
      expect(found.code).toBe(1);
      const problems = found
        .json<Diagnosis>()
        .results.flatMap(({ check, findings = [] }) => findings.map(({ jobId }) => `${check}: ${jobId}`));
      expect(problems.sort()).toEqual([
        'attributes of the wrong type: beyond-help',
        'attributes of the wrong type: text-number',
        'rows that the index cannot see: lost-shard',
        'running rows without a lease: no-lease',
      ]);
      const dry = await system.run(['doctor', '--repair', '--dry-run']);
      expect(dry.stdout).toContain('4 rows would be repaired; nothing was changed.');
      expect((await system.run(['doctor', '--repair'])).code).toBe(2);
      expect((await system.run(['doctor', '--repair'], { answer: false })).code).toBe(1);
      expect((await system.table.read('no-lease'))?.status).toBe('running');
    });

    it('repairs them by conditional writes, sends their hints, and finds no problems after', async () => {
      await aReaperRan();
      await edited('no-lease', { leaseUntil: undefined });
      await edited('text-number', { errors: '2' });
      await edited('beyond-help', { leaseUntil: undefined, status: 'sleeping' });
      const run = await system.run(['doctor', '--repair', '--yes', '--json']);
      expect(
        run
          .json<Diagnosis>()
          .repaired?.map(({ jobId, outcome }) => `${jobId} ${outcome}`)
          .sort(),
      ).toEqual(['beyond-help repaired', 'no-lease repaired', 'text-number repaired']);
      expect(run.code).toBe(0);
      expect(await hints()).toEqual(['{"hint":"no-lease","type":"email"}']);
      expect((await system.store.read('no-lease'))?.status).toBe('pending');
      expect(await system.store.read('text-number')).toMatchObject({ status: 'failed', errors: 0 });
      expect((await system.store.read('beyond-help'))?.status).toBe('failed');
      expect((await system.run(['doctor'])).code).toBe(0);
    });

    it('finds a reaper that never ran, a wrong clock and broken settings, and still looks at the rest', async () => {
      const environment = { LEASEHOLD_LEASE_MS: '30000', LEASEHOLD_HEARTBEAT_MS: '20000' };
      const run = await system.run(['doctor'], { environment, clock: createFakeClock() });
      expect(run.code).toBe(1);
      expect(run.stdout).toContain('✗ settings: 1 problem');
      expect(run.stdout).toContain('heartbeatMs (20000) must be at most a third');
      expect(run.stdout).toContain('✗ clock: 1 problem');
      expect(run.stdout).toContain('no reaper has swept this table yet');
      expect(run.stdout).toContain('✓ queue');
    });
  });

  describe('doctor --sweep', () => {
    const lapse = (jobId: string, changes: Row = {}) =>
      edited(jobId, { leaseUntil: systemClock.now() - 60_000, ...changes });

    it('reclaims jobs whose lease lapsed and sends hints, and leaves live ones alone', async () => {
      await lapse('dead');
      await lapse('killer', { lapses: 4 });
      await edited('live', {});
      const dry = await system.run(['doctor', '--sweep', '--dry-run']);
      expect(dry.stdout).toMatch(
        /dead +email +1 min( \d+ s)? ago +worker-a\/dead +given to the next worker \(lapse 1 of 5\)/,
      );
      expect(dry.stdout).toMatch(/killer .*quarantined \(lapse 5 of 5\)/);
      expect(dry.stdout).toContain('A sweep would change 2 jobs; nothing was changed.');
      expect((await system.store.read('dead'))?.status).toBe('running');
      const run = await system.run(['doctor', '--sweep', '--json']);
      expect(run.code).toBe(0);
      expect(run.json()).toMatchObject({ reclaimed: 1, quarantined: 1, hintsSent: 1 });
      expect((await system.store.read('dead'))?.status).toBe('pending');
      expect((await system.store.read('killer'))?.status).toBe('failed');
      expect((await system.store.read('live'))?.status).toBe('running');
      expect(await hints()).toEqual(['{"hint":"dead","type":"email"}']);
      expect((await system.run(['doctor', '--sweep', '--dry-run'])).stdout).toContain('No lease has lapsed');
    });

    it('leaves rows of a newer version alone and says so, as every verb does', async () => {
      await lapse('newer', { format: 3 });
      await lapse('dead', {});
      const before = await system.table.read('newer');
      const sweep = await system.run(['doctor', '--sweep']);
      expect([sweep.code, sweep.stdout]).toEqual([1, expect.stringContaining('1 of a newer version')]);
      expect(sweep.stdout).toContain('1 job reclaimed');
      expect(sweep.stderr).toContain("row 'newer' has format 3; this version knows up to 1");
      for (const verb of ['cancel', 'take-back', 'revive', 'show']) {
        const run = await system.run([verb, 'newer']);
        expect([verb, run.code === 0]).toEqual([verb, false]);
        expect(run.stderr).toContain('has format 3');
      }
      // One such row does not keep a verb from the others.
      const both = await system.run(['cancel', '--yes', 'newer', 'dead']);
      expect([both.code, both.stdout]).toEqual([1, expect.stringContaining('✓ dead')]);
      expect(await system.table.read('newer')).toEqual(before);
      expect((await system.run(['doctor'])).stdout).toContain("'newer' has format 3");
    });

    it('refuses by a clock that could take live leases', async () => {
      await edited('live', {});
      const run = await system.run(['doctor', '--sweep'], { clock: createFakeClock() });
      expect(run.code).toBe(1);
      expect(run.stderr).toContain("off DynamoDB's");
      expect((await system.store.read('live'))?.status).toBe('running');
    });

    it('covers the shards that the deployed reaper knows of, whatever this machine’s settings say', async () => {
      await lapse('far', { leaseShard: 'r15' });
      await system.put({ jobId: 'leader:reaper', leader: 'r', leaderUntil: 0, term: 1, shards: 16 });
      expect(defaultSettings.shards).toBe(8);
      expect((await system.run(['doctor', '--sweep', '--json'])).json()).toMatchObject({ reclaimed: 1 });
    });

    it('needs a queue for its hints', async () => {
      const run = await system.run(['doctor', '--sweep'], { environment: { LEASEHOLD_QUEUE_URL: '' } });
      expect(run.code).toBe(2);
    });
  });
});
