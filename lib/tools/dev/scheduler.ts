import {
  DEFAULT_LATE_AFTER_MS,
  SCHEDULED_TIME,
  type Schedule,
  type Schedules,
  tickBody,
  timetableOf,
} from '../../client/schedules/schedule.ts';
import type { Clock, JobQueue } from '../../protocol/ports.ts';

/** Recurring jobs of a local stack, as EventBridge Scheduler would start them. */
export interface Scheduler {
  schedules(): Schedules;
  /** Goes on with these instead. */
  replace(schedules: Schedules): void;
  stop(): Promise<void>;
}

export interface SchedulerOptions {
  readonly schedules: Schedules;
  readonly queue: Pick<JobQueue, 'sendJobs'>;
  readonly clock: Clock;
  readonly onProblem: (message: string) => void;
}

/** A machine may sleep, and its clock may be set: the next tick is looked at anew this often. */
const LOOK_MS = 10_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;

/** Sends the message of each tick. One that the queue does not take is repeated until it would be late. */
export function startScheduler({ schedules, queue, clock, onProblem }: SchedulerOptions): Scheduler {
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
      // Beside the next one: a queue that does not answer holds up no later tick.
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
    schedules: () => current,
    replace(next) {
      stopping.abort();
      stopping = new AbortController();
      current = next;
      start();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** As EventBridge Scheduler writes it: without fractions of a second. */
const timeOf = (at: number): string => new Date(at).toISOString().replace(/\.\d+/, '');
