import { setTimeout as sleep } from 'node:timers/promises';
import { isLine } from '../support/worker-process.ts';
import { ageLeases, type Bench, freshQueue, job, onAll, worker } from './scenario.ts';

/** What a worker can still do that was frozen until its job had been given to another. */
export interface Zombie {
  readonly recovered: boolean;
  /** The job was over, by the zombie's report, while its rightful worker was still at it. */
  readonly endedByZombie: boolean;
  /** The kept result is the zombie's; undefined where the system keeps none. */
  readonly resultIsZombies: boolean | undefined;
  /** The zombie's handler was told that its lease was gone. */
  readonly handlerTold: boolean;
  /** The job's status after the zombie's report, while its successor works, and at the end. */
  readonly meanwhile: string;
  readonly finally: string;
}

/** Longer than a lease of the fast settings: Leasehold's handler runs on in its cell while the host is frozen. */
const WORK_MS = 14_000;

/** A worker is stopped in the middle of a job, wakes while its successor is at work, and reports. */
export const zombie = (bench: Bench) =>
  onAll(bench, 'zombie', async (system): Promise<Zombie> => {
    const queue = await freshQueue(system, 'fast');
    const undead = await worker(system, queue, 'fast');
    const work = job('sleep', WORK_MS);
    await system.enqueue(queue, [work]);
    await undead.seen(isLine('start', work.id), 30_000);
    undead.signal('SIGSTOP');
    const heir = await worker(system, queue, 'fast');
    const ageing = ageLeases(system, queue, 'fast', 10_000);
    const restart = await heir.seen(isLine('start', work.id), 60_000);
    await ageing.stop();
    undead.signal('SIGCONT');
    await undead.seen(isLine('end', work.id), 10_000);
    await sleep(1000);
    const amid = await system.state(queue, work.id);
    const successorAtWork = !heir.lines.some((line) => line.event === 'end');
    await heir.seen(isLine('end', work.id), WORK_MS + 10_000);
    await sleep(1500);
    const end = await system.state(queue, work.id);
    const handlerTold = undead.lines.some((line) => line.event === 'aborted');
    await Promise.all([undead.kill(), heir.kill()]);
    return {
      recovered: restart !== undefined,
      endedByZombie: successorAtWork && amid.status !== 'running' && amid.status !== 'waiting',
      resultIsZombies: end.resultBy === undefined ? undefined : end.resultBy === undead.pid,
      handlerTold,
      meanwhile: amid.status,
      finally: end.status,
    };
  });
