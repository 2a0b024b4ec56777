import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CrashStage, setCrashStage } from '../support/crash-stage.ts';
import { on } from '../support/faults.ts';
import { programs } from '../support/mortal-process.ts';

const SLOTS = 2;
let stage: CrashStage;
let folder: string;
/** What every job waits for. */
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-excused-'));
  file = join(folder, 'go');
});
afterEach(async () => {
  await stage.close();
  rmSync(folder, { recursive: true });
});

const namesOf = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`);
/** One that a test kills stays dead. */
const startHost = () => stage.worker({ program: programs.children, revives: false });
const send = (jobIds: readonly string[]) =>
  Promise.all(jobIds.map((jobId) => stage.stack.send('wait', { file }, { jobId })));
const areRunning = (jobIds: readonly string[], attempt: number) =>
  Promise.all(
    jobIds.map((jobId) =>
      stage.stack.until(jobId, (job) => job?.status === 'running' && job.attempt === attempt),
    ),
  );
const chargesOf = (jobIds: readonly string[]) =>
  Promise.all(
    jobIds.map(async (jobId) => {
      const job = await stage.stack.read(jobId);
      return { status: job?.status, crashes: job?.crashes, releases: job?.releases };
    }),
  );

async function haveLapsed(jobIds: readonly string[]): Promise<boolean> {
  const { stack } = stage;
  const jobs = await Promise.all(jobIds.map((jobId) => stack.read(jobId)));
  return jobs.every(
    (job) => job?.status === 'running' && job.leaseUntil + stack.settings.skewMs < Date.now(),
  );
}

/** Kills hosts together, and has the reaper find the leases that they held. */
async function loseHosts(hosts: readonly ReturnType<typeof startHost>[], jobIds: readonly string[]) {
  for (const host of hosts) host.kill();
  await expect.poll(() => hosts.every(({ deaths }) => deaths === 1)).toBe(true);
  await Promise.all(jobIds.map((jobId) => stage.stack.lapse(jobId)));
  await stage.stack.sweep();
}

describe('the leases of hosts that are killed', () => {
  beforeEach(async () => {
    // Leases that a test ends are over for less than one more: they lapse together.
    stage = await setCrashStage({ processConcurrency: SLOTS, leaseMs: 120_000 });
  });

  it('all at once are charged to nobody, twice in a row; the third time to each job', async () => {
    const jobIds = namesOf('job', 2 * SLOTS);
    await send(jobIds);
    const charges = [];
    for (const attempt of [1, 2, 3]) {
      // Neither has slots for more than half of the jobs.
      const hosts = [startHost(), startHost()];
      await areRunning(jobIds, attempt);
      await loseHosts(hosts, jobIds);
      charges.push(await chargesOf(jobIds));
    }
    expect(charges).toEqual([
      jobIds.map(() => ({ status: 'pending', crashes: 0, releases: 1 })),
      jobIds.map(() => ({ status: 'pending', crashes: 0, releases: 2 })),
      jobIds.map(() => ({ status: 'pending', crashes: 1, releases: 2 })),
    ]);
    writeFileSync(file, '');
    startHost();
    for (const job of await stage.finished(...jobIds))
      expect(job).toMatchObject({ status: 'done', attempt: 4, errors: 0, crashes: 1 });
  });

  it('one after the other, beside a host that lives, are charged at once, and to nobody else', async () => {
    const others = namesOf('other', SLOTS);
    await send(others);
    startHost();
    await areRunning(others, 1);
    // The other host has no slot left, so a new one has to take it each time.
    await send(['job']);
    const charges = [];
    for (const attempt of [1, 2, 3]) {
      const host = startHost();
      await areRunning(['job'], attempt);
      await loseHosts([host], ['job']);
      charges.push(...(await chargesOf(['job'])));
    }
    expect(charges).toEqual([
      { status: 'pending', crashes: 1, releases: 0 },
      { status: 'pending', crashes: 2, releases: 0 },
      { status: 'failed', crashes: 3, releases: 0 },
    ]);
    writeFileSync(file, '');
    for (const job of await stage.finished(...others))
      expect(job).toMatchObject({ status: 'done', attempt: 1, crashes: 0, releases: 0 });
  });
});

describe('a store that is out of reach for longer than a lease', () => {
  it('is charged to nobody, be it for one host, twice in a row; the third time to each job', async () => {
    // By the clock: worker and reaper have to see for themselves what is over.
    stage = await setCrashStage({ processConcurrency: SLOTS, leaseMs: 3000 });
    const { stack } = stage;
    const jobIds = namesOf('job', SLOTS);
    await send(jobIds);
    startHost();
    stage.reaper();
    // A reaper that has not swept has promised nothing: two shards of running jobs, two of pending ones.
    await expect.poll(() => stack.dynamodb.counts.Query ?? 0).toBeGreaterThanOrEqual(4);
    const charges = [];
    for (const attempt of [1, 2, 3]) {
      await areRunning(jobIds, attempt);
      stack.dynamodb.use(on('*', { kind: 'reset' }));
      await expect.poll(() => haveLapsed(jobIds)).toBe(true);
      // A sweep under way may have begun before that: four shards, and the SDK asks for each three times.
      const { Query: asked = 0 } = stack.dynamodb.counts;
      await expect.poll(() => (stack.dynamodb.counts.Query ?? 0) - asked).toBeGreaterThan(12);
      stack.dynamodb.use();
      await areRunning(jobIds, attempt + 1);
      charges.push((await chargesOf(jobIds)).map(({ crashes, releases }) => ({ crashes, releases })));
    }
    expect(charges).toEqual([
      jobIds.map(() => ({ crashes: 0, releases: 1 })),
      jobIds.map(() => ({ crashes: 0, releases: 2 })),
      jobIds.map(() => ({ crashes: 1, releases: 2 })),
    ]);
    writeFileSync(file, '');
    for (const job of await stage.finished(...jobIds)) {
      expect(job).toMatchObject({ status: 'done', attempt: 4, errors: 0, crashes: 1 });
      // Whoever gets through first, the host or the reaper; the third time the host leaves it to the reaper.
      const [first, second, third, last] = job?.claims.map(({ outcome }) => outcome) ?? [];
      for (const outcome of [first, second]) expect(['lapsed', 'released']).toContain(outcome);
      expect([third, last]).toEqual(['lapsed', 'done']);
    }
  });
});
