import type { Clock, Telemetry } from '../../protocol/ports.ts';

const CONVICTIONS = 3;
const FIRST_MS = 5000;
const LONGEST_MS = 300_000;

interface Convictions {
  readonly jobs: Map<string, string>;
  times: number;
  until: number;
}

const NEVER = Number.NEGATIVE_INFINITY;
const newRecord = (): Convictions => ({ jobs: new Map(), times: 0, until: NEVER });

export type Brake = ReturnType<typeof createBrake>;

/** Stops claiming while jobs alone in their cells keep killing them, so that a bad deploy fails no backlog. */
export function createBrake(clock: Clock, telemetry: Pick<Telemetry, 'count' | 'error'>) {
  const types = new Map<string, Convictions>();
  let host = newRecord();

  /** Once pulled, one more crash doubles the hold, until a job succeeds. */
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
    succeeded(type: string): void {
      types.delete(type);
      if (host.jobs.size > 0 || host.times > 0) host = newRecord();
    },
    /** A fresh cell died while running only this job. */
    convicted({ jobId, type }: { readonly jobId: string; readonly type: string }): void {
      const own = types.get(type) ?? newRecord();
      types.set(type, own);
      own.jobs.set(jobId, type);
      host.jobs.set(jobId, type);
      if (isEnough(own)) pull(own, `no job of type '${type}' is claimed`);
      const isOneType = new Set(host.jobs.values()).size === 1;
      if (isEnough(host) && !isOneType) pull(host, 'no job is claimed');
    },
    holdsTypeMs: (type: string) => Math.max(0, (types.get(type)?.until ?? NEVER) - clock.monotonic()),
    holdsHostMs: () => Math.max(0, host.until - clock.monotonic()),
  };
}
