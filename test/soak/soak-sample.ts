import { readdirSync, readFileSync } from 'node:fs';
import type { LeaseEntry } from '../../lib/protocol/job.ts';
import { childrenOf, isCell } from '../support/mortal-process.ts';

/** What the worker's process tells of itself. */
export interface InsideSample {
  /** Jobs that run now. */
  readonly running: number;
  /** All that it ever sent. */
  readonly requests: number;
  /** Heap that was left after the last whole collection; undefined before there was one. */
  readonly heldMb: number | undefined;
  /** Timers, sockets and requests that keep the process alive. */
  readonly resources: number;
  /** The 99th percentile of its event loop's delay since the last sample. */
  readonly loopDelayMs: number;
}

/** How the worker is at one moment, seen from inside, from outside, and from the table. */
export interface SoakSample {
  readonly atMs: number;
  readonly running: number;
  /** Running jobs in the table. */
  readonly leases: number;
  /** How long the lease that is next to lapse still holds. */
  readonly marginMs: number;
  readonly beatsPerSecond: number;
  readonly requestsPerSecond: number;
  readonly hostRssMb: number;
  readonly hostOwnMb: number;
  readonly cellsRssMb: number;
  readonly cellsOwnMb: number;
  readonly heldMb: number | undefined;
  readonly hostDescriptors: number;
  readonly cellsDescriptors: number;
  readonly resources: number;
  readonly cells: number;
  readonly processes: number;
  readonly loopDelayMs: number;
}

/** What one sample is compared with the next by. */
interface Before {
  readonly atMs: number;
  readonly requests: number;
  readonly leases: ReadonlyMap<string, number>;
}

/** Takes samples of a worker. They must be closer together than its heartbeats, or some of those are not counted. */
export function createSampler(options: {
  readonly pid: number;
  readonly leases: () => Promise<readonly LeaseEntry[]>;
  readonly inside: () => Promise<InsideSample>;
}): () => Promise<SoakSample> {
  const began = performance.now();
  let before: Before = { atMs: 0, requests: 0, leases: new Map() };
  return async () => {
    const entries = (await options.leases()).filter(({ status }) => status === 'running');
    const inside = await options.inside();
    const atMs = performance.now() - began;
    const leases = new Map(entries.map((entry) => [`${entry.jobId} ${entry.attempt}`, entry.leaseUntil]));
    const beats = [...leases].filter(([claim, until]) => until > (before.leases.get(claim) ?? until)).length;
    const aSecond = (count: number) => (count * 1000) / (atMs - before.atMs);
    const sample: SoakSample = {
      ...{ ...inside, atMs, leases: leases.size },
      marginMs: Math.min(...leases.values()) - Date.now(),
      beatsPerSecond: aSecond(beats),
      requestsPerSecond: aSecond(inside.requests - before.requests),
      ...outsideOf(options.pid),
    };
    before = { atMs, requests: inside.requests, leases };
    return sample;
  };
}

function outsideOf(pid: number) {
  const children = childrenOf(pid);
  const cells = children.filter(isCell);
  const host = memoryOf(pid);
  const inCells = cells.map(memoryOf);
  return {
    ...{ hostRssMb: host.rssMb, hostOwnMb: host.ownMb },
    cellsRssMb: sumOf(inCells.map(({ rssMb }) => rssMb)),
    cellsOwnMb: sumOf(inCells.map(({ ownMb }) => ownMb)),
    hostDescriptors: descriptorsOf(pid),
    cellsDescriptors: sumOf(cells.map(descriptorsOf)),
    ...{ cells: cells.length, processes: 1 + children.length },
  };
}

const KIB_PER_MIB = 1024;
/** Its own: what it shares with no file. A share of shared pages, as PSS has it, grows when other processes of the machine end. */
function memoryOf(pid: number): { readonly rssMb: number; readonly ownMb: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
  const inMb = (name: string) => Number(new RegExp(`^${name}: +(\\d+)`, 'm').exec(text)?.[1]) / KIB_PER_MIB;
  return { rssMb: inMb('Rss'), ownMb: inMb('Anonymous') };
}

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
