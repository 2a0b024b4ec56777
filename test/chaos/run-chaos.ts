import { setTimeout as sleep } from 'node:timers/promises';
import { hintDelaySecondsOf } from '../../lib/protocol/decisions/dispatch.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { readJournal } from '../support/journal.ts';
import type { Fate } from '../support/journal-job.ts';
import { derivedSeed, type SeededRandom, seededRandom } from '../support/random.ts';
import { awaitTheEnd, indexOf } from './await-the-end.ts';
import { type ChaosSystem, startChaosSystem } from './chaos-system.ts';
import { checkEvidence } from './check-evidence.ts';
import type { BrokenPromise, ChaosEvent, Evidence } from './evidence.ts';
import { type ChaosFigures, figuresOf } from './figures.ts';
import { createTormentor, type Member, startMember } from './members.ts';
import { type Mood, moodyRule } from './mood.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** How long things go wrong. */
  readonly seconds: number;
  readonly jobs: number;
  readonly workers?: number;
  readonly reapers?: number;
  readonly log?: (line: string) => void;
}

export interface ChaosReport {
  readonly findings: readonly BrokenPromise[];
  readonly evidence: Evidence;
  readonly figures: ChaosFigures;
}

const now = () => performance.timeOrigin + performance.now();

/** Real processes on real engines, tormented for a while and then left in peace; then all that they did is judged. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, log = () => {} } = options;
  const random = seededRandom(derivedSeed(seed, 'chaos'));
  const system = await startChaosSystem();
  const sqsMood: Mood = { calm: false, partitioned: false };
  const sqs = await startFaultProxy({ target: system.sqs, seed, rules: [moodyRule(sqsMood)] });
  const events: ChaosEvent[] = [];
  const note = (event: Omit<ChaosEvent, 'at'>) => void events.push({ at: now(), ...event });
  note({ what: 'chaos begins' });
  const tormentor = createTormentor(random, note);
  const kinds = [
    ...Array.from({ length: options.workers ?? 3 }, () => 'worker' as const),
    ...Array.from({ length: options.reapers ?? 2 }, () => 'reaper' as const),
  ];
  const members: Member[] = [];
  try {
    for (const [number, kind] of kinds.entries())
      members.push(await startMember(kind, { system, sqs, seed, number, random }));
    const operator = createOperator(system, random, note);
    const endsAt = now() + options.seconds * 1000;
    const sending = operator.sendAll(options.jobs, endsAt);
    while (now() < endsAt || !tormentor.isThorough()) {
      await sleep(random.integer(200, 1500));
      tormentor.torment(members);
      if (random.chance(0.3)) await operator.interfere();
    }
    await sending;
    log(`chaos is over after ${options.seconds} s; waiting for ${operator.accepted.length} jobs to end`);
    note({ what: 'calm begins' });
    tormentor.relent(members);
    sqsMood.calm = true;
    const overdue = await awaitTheEnd(system, operator.accepted);
    // Whoever was stopped or cut off has its chance to do harm.
    await sleep(system.settings.leaseMs);
    await Promise.all(members.map(({ process }) => process.stop()));
    const evidence: Evidence = {
      settings: system.settings,
      ...{ accepted: operator.accepted, cancelled: operator.cancelled, takenBack: operator.takenBack },
      rows: await system.rows(),
      index: await indexOf(system),
      journal: readJournal(system.journalFile),
      ...{ events, pauses: tormentor.pauses, overdue },
    };
    return { findings: checkEvidence(evidence), evidence, figures: figuresOf(evidence, members, sqs) };
  } finally {
    await Promise.all(members.map(({ process }) => process.stop()));
    await Promise.all([...members.map(({ proxy }) => proxy.stop()), sqs.stop()]);
    await system.stop();
  }
}

/** Producer and operator: they reach the system undisturbed, since what they are told must be true. */
function createOperator(
  { store, queue, rows, purge }: ChaosSystem,
  random: SeededRandom,
  note: (event: Omit<ChaosEvent, 'at'>) => void,
) {
  const accepted: string[] = [];
  const cancelled = new Map<string, number[]>();
  const takenBack = new Map<string, number[]>();
  const remember = (map: Map<string, number[]>, jobId: string) =>
    map.set(jobId, [...(map.get(jobId) ?? []), now()]);
  const hint = (jobId: string, delaySeconds = 0) => queue.sendHints([{ jobId, delaySeconds }]);

  const interfere = async (): Promise<void> => {
    const jobId = accepted[random.integer(0, accepted.length - 1)];
    if (jobId === undefined) return;
    const dice = random.next();
    if (dice < 0.2) {
      remember(cancelled, jobId);
      note({ what: 'operator cancels', jobId });
      await store.cancel(jobId);
    } else if (dice < 0.5) {
      const revived = await store.revive(jobId);
      note({ what: `operator revives: ${revived.outcome}`, jobId });
      if (revived.outcome === 'written' && revived.job.status === 'pending')
        await hint(jobId, hintDelaySecondsOf(revived.job, Date.now()));
    } else if (dice < 0.8) {
      remember(takenBack, jobId);
      note({ what: 'operator takes the job back', jobId });
      const taken = await store.takeBack(jobId);
      if (taken.outcome === 'written' && taken.job.status === 'pending')
        await hint(jobId, hintDelaySecondsOf(taken.job, Date.now()));
    } else {
      // A purge may only lose messages of jobs that have a row: until then SQS is all that keeps them.
      const known = new Set((await rows()).map((row) => String(row.jobId)));
      if (!accepted.every((each) => known.has(each))) return;
      note({ what: 'queue purged' });
      await purge();
    }
  };

  return {
    accepted,
    cancelled,
    takenBack,
    interfere,
    async sendAll(count: number, endsAt: number): Promise<void> {
      const everyMs = Math.max(1, ((endsAt - now()) * 0.8) / count);
      for (let n = 1; n <= count; n++) {
        const jobId = `job-${n}`;
        const body = jobBody('journal', planJob(random), { jobId });
        const [sent] = await queue.sendJobs([{ body }]);
        if (sent?.outcome === 'sent') accepted.push(jobId);
        await sleep(everyMs);
      }
    },
  };
}

const chances: readonly (readonly [number, Fate])[] = [
  [0.12, 'throw'],
  [0.02, 'giveUp'],
  [0.03, 'exit'],
  [0.03, 'kill'],
  [0.08, 'ignoreSignal'],
];

/** What a job does in each of its first attempts. */
function planJob(random: SeededRandom) {
  const fates: Record<string, Fate> = {};
  for (let attempt = 1; attempt <= 4; attempt++) {
    let dice = random.next();
    for (const [random, fate] of chances) {
      if (dice >= 0 && dice < random) fates[String(attempt)] = fate;
      dice -= random;
    }
  }
  const overrunMs = random.integer(100, 6000);
  return { steps: random.integer(0, 6), stepMs: random.integer(20, 500), fates, overrunMs };
}
