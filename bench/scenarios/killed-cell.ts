import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { canContain, createContainer } from '../support/container.ts';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { isLine, type WorkerProcess } from '../support/worker-process.ts';
import { DEATHS, type DeathKind, lastLineOf, readStamp } from '../systems/deaths.ts';
import type { BenchJob, System } from '../systems/system.ts';
import { type Bench, freshQueue, job, worker } from './scenario.ts';

/** Time from the last line of code that ended its process to the job's next start, in ms. */
export interface KilledCell {
  readonly how: DeathKind;
  /** Messages that waited in the queue meanwhile. */
  readonly waiting: number;
  readonly spread: Spread | undefined;
  readonly lost: number;
}

/** The default of a worker process. */
const CONCURRENCY = 10;
const CONTAINER_MB = 512;
const NEEDS_CONTAINER: readonly DeathKind[] = ['heap', 'native memory'];
const WAITING = 10_000;
/** Harmless jobs between two that die, while many wait. */
const BETWEEN = 100;
const HARMLESS_MS = 100;
/** And where nobody waits: deaths are rare enough to be over before the next. */
const BETWEEN_MS = 500;
/** Of one way to die before one queue: all twelve together end within twelve minutes, whatever happens. */
const LIMIT_MS = 55_000;
const LOST_AFTER_MS = 10_000;

/** A job ends its process in each way, again and again, and runs again beside nobody and before a long queue. */
export async function killedCell(
  bench: Bench,
  leasehold: System,
  kinds: readonly DeathKind[] = DEATHS,
  queues: readonly number[] = bench.quick ? [0] : [0, WAITING],
): Promise<KilledCell[]> {
  const results: KilledCell[] = [];
  const trials = bench.trials ?? (bench.quick ? 5 : 30);
  for (const how of kinds)
    for (const waiting of queues) {
      if (NEEDS_CONTAINER.includes(how) && !canContain()) {
        bench.say(`killed cell, ${how}: skipped, control groups of version 1 cannot be made here`);
        continue;
      }
      const measured = await oneKind(leasehold, { how, waiting, trials });
      results.push(measured);
      bench.keep({ killedCell: results });
      const { spread, lost } = measured;
      bench.say(
        `killed cell, ${how}, ${waiting} waiting: ${spread?.median} ms (${spread?.lowest}–${spread?.highest}) of ${spread?.runs}, ${lost} lost`,
      );
    }
  return results;
}

async function oneKind(
  system: System,
  { how, waiting, trials }: { how: DeathKind; waiting: number; trials: number },
): Promise<KilledCell> {
  const limit = Date.now() + LIMIT_MS;
  const folder = mkdtempSync(join(tmpdir(), 'bench-deaths-'));
  const container = NEEDS_CONTAINER.includes(how) ? createContainer({ memoryMb: CONTAINER_MB }) : undefined;
  const queue = await freshQueue(system, 'default');
  const dying: BenchJob[] = Array.from({ length: trials }, () => ({ ...job('die', 50), how, once: folder }));
  try {
    if (waiting > 0) await system.enqueue(queue, behindOthers(dying, waiting));
    const process_ = await worker(system, queue, 'default', CONCURRENCY, container);
    // The spare cell is there soon after the others.
    await sleep(500);
    const delays: number[] = [];
    let lost = 0;
    for (const each of dying) {
      if (Date.now() > limit) break;
      if (waiting === 0) {
        await sleep(BETWEEN_MS);
        await system.enqueue(queue, [each]);
      }
      const delay = await delayOf(process_, each.id, lastLineOf(folder, each.id));
      if (delay === undefined) lost += 1;
      else delays.push(delay);
    }
    await process_.kill();
    return { how, waiting, spread: spreadOf(delays), lost };
  } finally {
    await container?.remove();
    rmSync(folder, { recursive: true, force: true });
    await system.discard?.(queue);
  }
}

function behindOthers(dying: readonly BenchJob[], waiting: number): BenchJob[] {
  const harmless = (count: number) => Array.from({ length: count }, () => job('sleep', HARMLESS_MS));
  const mixed = dying.flatMap((each) => [...harmless(BETWEEN), each]);
  return [...mixed, ...harmless(waiting)];
}

async function delayOf(process_: WorkerProcess, id: string, file: string): Promise<number | undefined> {
  const end = await process_.seen(isLine('end', id), LOST_AFTER_MS);
  if (end === undefined) return undefined;
  const starts = process_.lines.filter(isLine('start', id));
  const again = starts[1]?.at;
  return again === undefined ? undefined : again - readStamp(file);
}
