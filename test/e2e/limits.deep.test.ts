import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseGroup } from '../../lib/protocol/limits/group.ts';
import { pauseType, resumeType } from '../../lib/protocol/limits/operate.ts';
import { limitGroup } from '../../lib/wire/limits.ts';
import { type CrashStage, setCrashStage } from '../support/crash-stage.ts';
import { isDeep } from '../support/depth.ts';
import type { JournalLine } from '../support/journal.ts';

const program = join(import.meta.dirname, '..', 'support', 'limited-worker.ts');
let stage: CrashStage;
beforeEach(async () => {
  stage = await setCrashStage({ leaseMs: 1500, maxLapses: 25, maxAttempts: 25, maxCrashes: 25 });
});
afterEach(() => stage.close());

const JOBS = isDeep ? 200 : 24;
const ATTACK_MS = isDeep ? 90_000 : 8000;

/** The most runs of a group at once; a run ends with its last line, or with its process. */
function mostAtOnce(lines: readonly JournalLine[]): number {
  const runs = Map.groupBy(lines, ({ jobId, attempt }) => `${jobId} ${attempt}`);
  const moments = [...runs.values()].flatMap((run) => [
    { at: run[0]?.at ?? 0, change: 1 },
    { at: run.at(-1)?.at ?? 0, change: -1 },
  ]);
  let now = 0;
  let most = 0;
  for (const { change } of moments.sort((a, b) => a.at - b.at || a.change - b.change)) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

it('never runs more jobs at once than a limit allows, through killed workers and pauses, and runs them all', async () => {
  const { stack } = stage;
  const { store, queue, clock } = stack.direct;
  stage.reaper();
  const workers = [1, 2, 3].map(() => stage.worker({ program }));
  await Promise.all(workers.map((worker) => worker.ready()));
  const jobIds: string[] = [];
  for (let n = 0; n < JOBS; n++) {
    const type = n % 2 === 0 ? 'two' : 'keyed';
    const key = ['a', 'b', 'constructor'][n % 3] as string;
    const jobId = `${type}.${key}.${n}`;
    jobIds.push(jobId);
    for (const _twice of n % 5 === 0 ? [1, 2] : [1])
      await stack.send(type, { steps: 3, stepMs: 100 }, { jobId, key });
  }
  const operator = { table: stack.direct.table, queue, clock, by: 'test' };
  const until = performance.now() + ATTACK_MS;
  while (performance.now() < until) {
    workers[Math.floor(Math.random() * 3)]?.kill();
    await sleep(700);
    await pauseType(operator, 'two');
    // As a producer could send it, with another key.
    await queue.sendHints(
      jobIds.slice(0, 5).map((jobId) => ({ jobId, type: 'keyed', key: 'b', delaySeconds: 0 })),
    );
    await sleep(700);
    await resumeType(operator, 'two');
  }
  const jobs = await stage.finished(...jobIds);
  expect(jobs.map(({ status }) => status)).toEqual(jobs.map(() => 'done'));
  const groups = Map.groupBy(stage.journal(), ({ jobId }) => {
    const [type = '', key = ''] = jobId.split('.');
    return type === 'two' ? limitGroup(type) : limitGroup(type, key);
  });
  const seen = [...groups].map(([name, lines]) => [name, mostAtOnce(lines)] as const);
  for (const [name, most] of seen) expect(most, name).toBeLessThanOrEqual(name === 'limit:two' ? 2 : 1);
  for (const [name] of seen) {
    const state = parseGroup(await stack.direct.table.read(name));
    const { state: left } = await store.check({ name, limit: 1 }, state);
    expect(left.members, name).toEqual({});
  }
});
