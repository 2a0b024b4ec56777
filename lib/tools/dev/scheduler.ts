import {
  DEFAULT_LATE_AFTER_MS,
  SCHEDULED_TIME,
  type Schedule,
  type Schedules,
  tickBody,
  timetableOf,
} from '../../client/schedules/schedule.ts';
import type { Clock, JobQueue } from '../../protocol/ports.ts';

export interface SchedulerOptions {
  readonly schedules: Schedules;
  readonly queue: Pick<JobQueue, 'sendJobs'>;
  readonly clock: Clock;
  readonly onProblem: (message: string) => void;
}

/** Looks this often, because the machine may sleep and its clock may be set. */
const LOOK_MS = 10_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;

export function startScheduler({ schedules, queue, clock, onProblem }: SchedulerOptions) {
  let stopping = new AbortController();
  let current = schedules;
  let running: Promise<unknown> = Promise.resolve();

  const deliver = async (
    name: string,
    schedule: Schedule,
    at: number,
    signal: AbortSignal,
  ): Promise<void> => {
    const body = tickBody(name, schedule).replaceAll(SCHEDULED_TIME, timeOf(at));
    const latest = at + (schedule.lateAfterMs ?? DEFAULT_LATE_AFTER_MS);
    for (let pause = FIRST_RETRY_MS; ; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      const [sent] = await queue.sendJobs([{ body }]);
      if (sent?.outcome === 'sent') return;
      const left = latest - clock.now();
      if (left <= 0)
        return onProblem(`schedule '${name}': the tick of ${timeOf(at)} was not sent: ${sent?.reason}`);
      await clock.sleep(Math.min(pause, left), signal);
    }
  };

  const follow = async (name: string, schedule: Schedule, signal: AbortSignal): Promise<void> => {
    const timetable = timetableOf(schedule);
    for (let at = timetable.next(clock.now()); at !== undefined; at = timetable.next(at)) {
      for (let left = at - clock.now(); left > 0; left = at - clock.now())
        await clock.sleep(Math.min(left, LOOK_MS), signal);
      // Not awaited: a queue that does not answer must not delay later ticks.
      void deliver(name, schedule, at, signal).catch(() => {});
    }
  };

  const start = () => {
    const { signal } = stopping;
    running = Promise.allSettled(
      Object.entries(current).map(([name, schedule]) => follow(name, schedule, signal)),
    );
  };
  start();
  return {
    schedules: (): Schedules => current,
    replace(next: Schedules): void {
      stopping.abort();
      stopping = new AbortController();
      current = next;
      start();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

const timeOf = (at: number): string => new Date(at).toISOString().replace(/\.\d+/, '');
