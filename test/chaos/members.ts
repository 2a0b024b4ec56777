import { join } from 'node:path';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import type { FaultRule } from '../support/faults.ts';
import { type MortalProcess, programs, startMortalProcess } from '../support/mortal-process.ts';
import { derivedSeed, type SeededRandom } from '../support/random.ts';
import type { ChaosSystem } from './chaos-system.ts';
import type { ChaosEvent, Pause } from './evidence.ts';
import { type Mood, moodyRule } from './mood.ts';

/** A worker or reaper process with its own bad network and its own wrong clock. */
export interface Member {
  readonly kind: 'worker' | 'reaper';
  readonly process: MortalProcess;
  readonly proxy: FaultProxy;
  readonly mood: Mood;
}

const CLOCK = join(import.meta.dirname, 'skewed-clock.ts');

export interface MemberContext {
  readonly system: ChaosSystem;
  readonly sqs: FaultProxy;
  readonly seed: number;
  readonly number: number;
  readonly random: SeededRandom;
}

export async function startMember(kind: Member['kind'], context: MemberContext): Promise<Member> {
  const mood: Mood = { calm: false, partitioned: false };
  return { ...(await startMemberBehind([moodyRule(mood)], kind, context)), mood };
}

/** Behind a proxy with these rules on its way to the table. */
export async function startMemberBehind(
  rules: readonly FaultRule[],
  kind: Member['kind'],
  { system, sqs, seed, number, random }: MemberContext,
): Promise<Omit<Member, 'mood'>> {
  const proxy = await startFaultProxy({
    target: system.dynamodb,
    seed: derivedSeed(seed, `${kind} ${number}`),
    rules,
  });
  const farthest = Math.floor(system.settings.skewMs / 2);
  const process = startMortalProcess({
    program: programs[kind],
    environment: {
      ...system.environment({ dynamodb: proxy.endpoint, sqs: sqs.endpoint }),
      CLOCK_OFFSET_MS: String(random.integer(-farthest, farthest)),
    },
    execArgv: ['--import', CLOCK],
  });
  return { kind, process, proxy };
}

export const CELL_KILLED = 'cell killed';
export const CELL_STOPPED = 'cell stopped';

/** A process that is gone by now has nothing to fear. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // ESRCH
  }
}

/** What is done to processes, and the record of it. */
export function createTormentor(random: SeededRandom, note: (event: Omit<ChaosEvent, 'at'>) => void) {
  const pauses: Pause[] = [];
  /** Whose death has been met. */
  const met = new Set<'host' | 'cell'>();
  const paused = new Map<Member, { readonly pid: number; readonly from: number }>();
  const now = () => performance.timeOrigin + performance.now();

  const resume = (member: Member) => {
    const since = paused.get(member);
    if (since === undefined) return;
    paused.delete(member);
    pauses.push({ ...since, to: now() });
    note({ what: 'resumed', pid: since.pid });
    if (member.process.pid === since.pid) member.process.resume();
  };

  const torments = {
    kill(member: Member) {
      note({ what: `${member.kind} killed`, pid: member.process.pid });
      met.add('host');
      resume(member);
      member.process.kill(random.integer(0, 1000));
    },
    terminate(member: Member) {
      if (paused.has(member)) return;
      note({ what: `${member.kind} asked to go`, pid: member.process.pid });
      member.process.terminate();
    },
    pause(member: Member) {
      if (paused.has(member)) return;
      const { pid } = member.process;
      note({ what: `${member.kind} stopped`, pid });
      paused.set(member, { pid, from: now() });
      member.process.pause();
      setTimeout(() => resume(member), random.integer(100, 6000)).unref();
    },
    killCell(member: Member) {
      const pid = cellOf(member);
      if (pid === undefined) return;
      note({ what: CELL_KILLED, pid });
      met.add('cell');
      signal(pid, 'SIGKILL');
    },
    /** Its host goes on, and is to see to it. */
    pauseCell(member: Member) {
      const pid = cellOf(member);
      if (pid === undefined) return;
      note({ what: CELL_STOPPED, pid });
      const from = now();
      signal(pid, 'SIGSTOP');
      setTimeout(
        () => {
          signal(pid, 'SIGCONT');
          pauses.push({ pid, from, to: now() });
        },
        random.integer(100, 6000),
      ).unref();
    },
    partition(member: Member) {
      note({ what: `${member.kind} cut off from the table`, pid: member.process.pid });
      member.mood.partitioned = true;
      setTimeout(
        () => {
          member.mood.partitioned = false;
        },
        random.integer(100, 4000),
      ).unref();
    },
  };
  const kinds = [
    ...(['kill', 'kill', 'terminate', 'pause', 'pause', 'partition'] as const),
    ...(['killCell', 'killCell', 'killCell', 'pauseCell'] as const),
  ] as const;
  const cellOf = (member: Member): number | undefined => {
    // A stopped host has its cells stopped with it: they are resumed together.
    const cells = paused.has(member) ? [] : member.process.cells();
    return cells[random.integer(0, Math.max(0, cells.length - 1))];
  };

  return {
    pauses,
    /** Whether a host and a cell were killed at all: what is chosen by chance can fall on those who have no cell just now. */
    isThorough: () => met.size === 2,
    torment(members: readonly Member[]) {
      const member = members[random.integer(0, members.length - 1)];
      if (member !== undefined) torments[random.pick(kinds)](member);
    },
    /** From here on nothing goes wrong. */
    relent(members: readonly Member[]) {
      for (const member of members) {
        resume(member);
        member.mood.calm = true;
        member.mood.partitioned = false;
      }
    },
  };
}
