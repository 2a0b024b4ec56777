import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '../../lib/protocol/job.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { followJournal, readJournal } from '../support/journal.ts';
import { derivedSeed, seededRandom } from '../support/random.ts';
import { awaitTheEnd, indexOf } from './await-the-end.ts';
import { type ChaosSystem, startChaosSystem } from './chaos-system.ts';
import { checkEvidence } from './check-evidence.ts';
import type { BrokenPromise, ChaosEvent, Evidence } from './evidence.ts';
import { explainedCrashes } from './explained-crashes.ts';
import { disturb } from './fleet-faults.ts';
import { type FleetMember, startFleetMember, startLatency } from './fleet-hosts.ts';
import { createMix, type FleetJob, isGuilty } from './fleet-mix.ts';

export interface FleetOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly hosts: number;
  /** The share of the cells that dies each minute; undefined: nothing goes wrong but the jobs themselves. */
  readonly cellDeaths?: number;
  readonly log?: (line: string) => void;
}

export interface FleetReport {
  readonly findings: readonly BrokenPromise[];
  readonly evidence: Evidence;
  readonly figures: FleetFigures;
}

/** What a run cost. */
interface FleetFigures {
  /** Harmless jobs that ended in a second, while it was measured. */
  readonly jobsPerSecond: number;
  /** From sending to the first line of the handler, of short jobs, in ms. */
  readonly startMs: { readonly median: number; readonly p95: number };
  readonly jobs: Readonly<Record<string, number>>;
  readonly events: Readonly<Record<string, number>>;
  /** Harmless jobs with crashes on their rows that no kill of a host, or of a cell in which they were alone, explains. */
  readonly chargedInnocents: readonly string[];
  /** Harmless jobs that failed. */
  readonly failedWithoutCause: number;
  /** Guilty jobs that ended as they must: failed. */
  readonly guiltyFailed: string;
}

/** A sixth of the usual times and less: a minute holds many leases, and machines are slow. */
const fleetSettings = resolveSettings(
  {
    ...{ leaseMs: 6000, skewMs: 500, dispatchLeaseMs: 4000, dispatchLeaseCapMs: 20_000 },
    ...{ maxAttempts: 6, maxCrashes: 3, backoffBaseMs: 200, backoffCapMs: 2000 },
    ...{ functionTimeoutMs: 9000, deadlineMarginMs: 500, shutdownGraceMs: 3000 },
    ...{ killAfterMs: 1000, maxStallMs: 2000, reaperIntervalMs: 3000, minSweepIntervalMs: 200 },
    ...{ processConcurrency: 12, cells: 3, cellMemoryMb: 200 },
    ...{ shards: 2, maxRunning: 200, eventsEnabled: false },
  },
  { allowShortTimes: true },
);
const REAPERS = 2;
/** A guilty job is sent this often. */
const GUILTY_EVERY_MS = 15_000;
const now = () => performance.timeOrigin + performance.now();

/** A fleet of hosts, cells and reapers on real engines behind latency, kept busy with a mix of jobs; then all that they did is judged. */
export async function runFleet(options: FleetOptions): Promise<FleetReport> {
  const { seed, seconds, log = () => {} } = options;
  const random = seededRandom(derivedSeed(seed, 'fleet'));
  const system = await startChaosSystem(fleetSettings);
  const [storeOutage, queueOutage] = [{ partitioned: false }, { partitioned: false }];
  const sqs = await startLatency(system.sqs, seed, queueOutage);
  const events: ChaosEvent[] = [];
  const note = (event: Omit<ChaosEvent, 'at'>) => {
    events.push({ at: now(), ...event });
    log(`${((now() - (events[0]?.at ?? 0)) / 1000).toFixed(1).padStart(7)} s  ${event.what}`);
  };
  const members: FleetMember[] = [];
  const over = new AbortController();
  try {
    for (let number = 0; number < options.hosts + REAPERS; number++)
      members.push(
        await startFleetMember(number < options.hosts ? 'worker' : 'reaper', {
          ...{ system, sqs, seed, number, random, storeOutage },
        }),
      );
    await Promise.all(members.map(({ process }) => process.ready()));
    note({ what: 'the fleet is up' });
    const [hosts, reapers] = [members.slice(0, options.hosts), members.slice(options.hosts)];
    const disturbing =
      options.cellDeaths === undefined
        ? undefined
        : disturb(
            { hosts, reapers, storeOutage, queueOutage },
            { cellDeaths: options.cellDeaths, seconds },
            ...([random, note, over.signal] as const),
          );
    const began = now();
    const sent = await keepBusy(system, createMix(seed), {
      until: began + seconds * 1000,
      slots: 12 * options.hosts,
    });
    const ended = now();
    over.abort();
    await disturbing;
    note({ what: `calm begins; ${sent.size} jobs were sent` });
    const overdue = await awaitTheEnd(system, [...sent.keys()]);
    await Promise.all(members.map(({ process }) => process.stop()));
    const evidence: Evidence = {
      settings: system.settings,
      ...{ accepted: [...sent.keys()], cancelled: new Map(), takenBack: new Map() },
      rows: await system.rows(),
      index: await indexOf(system),
      journal: readJournal(system.journalFile),
      ...{ events, pauses: [], overdue },
    };
    return {
      findings: checkEvidence(evidence),
      evidence,
      figures: figuresOf(evidence, await wholeJobs(system, evidence), sent, { began, ended }),
    };
  } finally {
    over.abort();
    await Promise.all(members.map(({ process }) => process.stop()));
    await Promise.all([...members.map(({ proxy }) => proxy.stop()), sqs.stop()]);
    await system.stop();
  }
}

/** Keeps all slots and some of the queue full of harmless jobs, and sends a guilty one now and then; returns when each was sent. */
async function keepBusy(
  { queue, journalFile }: ChaosSystem,
  mix: ReturnType<typeof createMix>,
  { until, slots }: { readonly until: number; readonly slots: number },
): Promise<Map<string, number>> {
  const sent = new Map<string, number>();
  const send = async (jobs: readonly FleetJob[]) => {
    const bodies = jobs.map(({ jobId, payload }) => ({ body: jobBody('journal', payload, { jobId }) }));
    const outcomes = await queue.sendJobs(bodies);
    for (const [i, outcome] of outcomes.entries())
      if (outcome.outcome === 'sent') sent.set(jobs[i]?.jobId ?? '', now());
  };
  const read = followJournal(journalFile);
  const ended = new Set<string>();
  let guiltyAt = now() + GUILTY_EVERY_MS / 2;
  let innocents = 0;
  while (now() < until) {
    for (const { event, jobId } of read()) if (event === 'end' && !isGuilty(jobId)) ended.add(jobId);
    const wanted = Math.max(0, Math.ceil(slots * 1.25) - (innocents - ended.size));
    if (wanted > 0) await send(Array.from({ length: wanted }, mix.innocent));
    innocents += wanted;
    if (now() >= guiltyAt) {
      guiltyAt += GUILTY_EVERY_MS;
      await send([mix.guilty()]);
    }
    await sleep(100);
  }
  return sent;
}

function figuresOf(
  { journal, events }: Evidence,
  jobs: readonly Job[],
  sent: ReadonlyMap<string, number>,
  { began, ended }: { readonly began: number; readonly ended: number },
): FleetFigures {
  const explained = explainedCrashes({ events, journal });
  const innocents = jobs.filter(({ jobId }) => !isGuilty(jobId));
  const guilty = jobs.filter(({ jobId }) => isGuilty(jobId));
  const done = new Set(
    journal
      .filter(({ event, at, jobId }) => event === 'end' && at >= began && at <= ended && !isGuilty(jobId))
      .map(({ jobId }) => jobId),
  );
  const firstStarts = new Map<string, number>();
  for (const { event, jobId, at } of journal)
    if (event === 'start' && !firstStarts.has(jobId)) firstStarts.set(jobId, at);
  const waits = [...firstStarts]
    .filter(([jobId]) => jobId.startsWith('short-'))
    .map(([jobId, at]) => at - (sent.get(jobId) ?? at))
    .sort((a, b) => a - b);
  const share = (part: number) => Math.round(waits[Math.floor(part * (waits.length - 1))] ?? 0);
  return {
    jobsPerSecond: Number((done.size / ((ended - began) / 1000)).toFixed(2)),
    startMs: { median: share(0.5), p95: share(0.95) },
    jobs: countsOf(jobs.map(({ jobId, status }) => `${jobId.split('-', 1)[0]} ${status}`)),
    events: countsOf(events.map(({ what }) => what.replace(/ for \d+ ms|; \d+ jobs were sent/, ''))),
    chargedInnocents: innocents.filter((job) => job.crashes > explained(job)).map(({ jobId }) => jobId),
    failedWithoutCause: innocents.filter(({ status }) => status === 'failed').length,
    guiltyFailed: `${guilty.filter(({ status }) => status === 'failed').length} of ${guilty.length}`,
  };
}

/** With all their claims: those of a job with many are kept beside its row. */
const wholeJobs = async ({ store }: ChaosSystem, { rows }: Evidence): Promise<readonly Job[]> =>
  Promise.all(
    rows.map(async (row) => {
      const job = parseJob(row);
      return job.crashes === 0 ? job : ((await store.read(job.jobId)) ?? job);
    }),
  );

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
