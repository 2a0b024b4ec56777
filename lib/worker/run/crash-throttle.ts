import type { Clock, Telemetry } from '../../protocol/ports.ts';

const MOST_CRASHES = 3;
const FIRST_MS = 5000;
const LONGEST_MS = 300_000;

interface CrashRecord {
  readonly typeOfJob: Map<string, string>;
  pauses: number;
  until: number;
}

const NEVER = Number.NEGATIVE_INFINITY;
const newRecord = (): CrashRecord => ({ typeOfJob: new Map(), pauses: 0, until: NEVER });

export type CrashThrottle = ReturnType<typeof createCrashThrottle>;

/** Stops claiming after repeated crashes of jobs alone in their cells, so that a bad deploy does not fail a backlog. */
export function createCrashThrottle(clock: Clock, telemetry: Pick<Telemetry, 'count' | 'error'>) {
  const types = new Map<string, CrashRecord>();
  let host = newRecord();

  /** Each further crash doubles the pause until a job succeeds. */
  const pause = (record: CrashRecord, what: string): void => {
    const pauseMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** record.pauses);
    record.pauses += 1;
    record.until = clock.monotonic() + pauseMs;
    telemetry.count('CrashThrottleOn');
    const jobs = new Error([...record.typeOfJob.keys()].join(', '));
    telemetry.error(`cells keep dying: ${what} for a while`, jobs, { pauseMs });
    record.typeOfJob.clear();
  };
  const isEnough = ({ typeOfJob, pauses }: CrashRecord) => typeOfJob.size >= (pauses > 0 ? 1 : MOST_CRASHES);

  return {
    recordSuccess(type: string): void {
      types.delete(type);
      if (host.typeOfJob.size > 0 || host.pauses > 0) host = newRecord();
    },
    recordCrash({ jobId, type }: { readonly jobId: string; readonly type: string }): void {
      const own = types.get(type) ?? newRecord();
      types.set(type, own);
      own.typeOfJob.set(jobId, type);
      host.typeOfJob.set(jobId, type);
      if (isEnough(own)) pause(own, `no job of type '${type}' is claimed`);
      const isOneType = new Set(host.typeOfJob.values()).size === 1;
      if (isEnough(host) && !isOneType) pause(host, 'no job is claimed');
    },
    typePausedMs: (type: string) => Math.max(0, (types.get(type)?.until ?? NEVER) - clock.monotonic()),
    hostPausedMs: () => Math.max(0, host.until - clock.monotonic()),
  };
}
