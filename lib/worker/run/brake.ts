import type { Clock, Telemetry } from '../../protocol/ports.ts';

/**
 * Stops a host from claiming when its cells keep dying, so that a bad deploy does not fail a backlog. Only jobs that were
 * alone in a fresh cell count, and each of them once: a single poison job, however often it dies, is no reason to stop.
 */
export interface Brake {
  /** A job ended as it should. */
  succeeded(type: string): void;
  /** A fresh cell died with this job alone in it. */
  convicted(job: { readonly jobId: string; readonly type: string }): void;
  /** How long jobs of this type are not to be claimed yet. */
  holdsTypeMs(type: string): number;
  /** How long no job is to be claimed yet. */
  holdsHostMs(): number;
}

/** Distinct jobs without a success in between from which the brake holds. */
const CONVICTIONS = 3;
const FIRST_MS = 5000;
const LONGEST_MS = 300_000;

interface Convictions {
  /** Convicted jobs and their types. */
  readonly jobs: Map<string, string>;
  /** How often the brake was pulled without a success since. */
  times: number;
  until: number;
}

const NEVER = Number.NEGATIVE_INFINITY;
const newRecord = (): Convictions => ({ jobs: new Map(), times: 0, until: NEVER });

export function createBrake(clock: Clock, telemetry: Pick<Telemetry, 'count' | 'error'>): Brake {
  const types = new Map<string, Convictions>();
  let host = newRecord();

  /** Once pulled, one more conviction is enough, for twice as long, until something succeeds. */
  const pull = (record: Convictions, what: string): void => {
    const pauseMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** record.times);
    record.times += 1;
    record.until = clock.monotonic() + pauseMs;
    telemetry.count('BrakeOn');
    telemetry.error(`cells keep dying: ${what} for a while`, new Error([...record.jobs.keys()].join(', ')), {
      pauseMs,
    });
    record.jobs.clear();
  };
  const isEnough = ({ jobs, times }: Convictions) => jobs.size >= (times > 0 ? 1 : CONVICTIONS);

  return {
    succeeded(type) {
      types.delete(type);
      if (host.jobs.size > 0 || host.times > 0) host = newRecord();
    },
    convicted({ jobId, type }) {
      const own = types.get(type) ?? newRecord();
      types.set(type, own);
      own.jobs.set(jobId, type);
      host.jobs.set(jobId, type);
      if (isEnough(own)) pull(own, `no job of type '${type}' is claimed`);
      const isOneType = new Set(host.jobs.values()).size === 1;
      if (isEnough(host) && !isOneType) pull(host, 'no job is claimed');
    },
    holdsTypeMs: (type) => Math.max(0, (types.get(type)?.until ?? NEVER) - clock.monotonic()),
    holdsHostMs: () => Math.max(0, host.until - clock.monotonic()),
  };
}
