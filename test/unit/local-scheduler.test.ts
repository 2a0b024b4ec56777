import { describe, expect, it } from 'vitest';
import type { Schedules } from '../../lib/client/schedules/schedule.ts';
import type { SentMessage } from '../../lib/protocol/ports.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { startScheduler } from '../../lib/tools/dev/scheduler.ts';

const START = Date.parse('2027-01-31T02:58:30Z');
const MINUTE = 60_000;

function stage(schedules: Schedules, answer: (nth: number) => SentMessage['outcome'] = () => 'sent') {
  const clock = createFakeClock(START);
  const sent: { readonly scheduledAt: string; readonly schedule: string; readonly payload: unknown }[] = [];
  const problems: string[] = [];
  let asked = 0;
  const queue = {
    async sendJobs(messages: readonly { readonly body: string }[]): Promise<SentMessage[]> {
      asked += 1;
      const outcome = answer(asked);
      if (outcome === 'failed') return [{ outcome, reason: 'down' }];
      sent.push(...messages.map(({ body }) => JSON.parse(body)));
      return [{ outcome, messageId: 'm' }];
    },
  };
  const scheduler = startScheduler({
    schedules,
    queue,
    clock,
    onProblem: (problem) => problems.push(problem),
  });
  /** In small steps, as a clock goes. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 5000) await clock.advance(Math.min(5000, left));
  };
  return { clock, sent, problems, scheduler, pass, asked: () => asked };
}

describe('the scheduler of a local stack', () => {
  it('sends each tick once, at its time and not before, with its name and time in the message', async () => {
    const { sent, pass, scheduler } = stage({
      nightly: { cron: '0 3 * * ? *', type: 'report', payload: { day: '<aws.scheduler.scheduled-time>' } },
      often: { rate: '2 minutes', type: 'poll' },
    });
    await pass(90_000 - 1);
    expect(sent).toEqual([]);
    await pass(1);
    expect(sent).toEqual([
      {
        ...{ type: 'report', schedule: 'nightly', scheduledAt: '2027-01-31T03:00:00Z' },
        ...{ payload: { day: '2027-01-31T03:00:00Z' }, lateAfterMs: 86_400_000 },
      },
      expect.objectContaining({ schedule: 'often', scheduledAt: '2027-01-31T03:00:00Z', payload: null }),
    ]);
    await pass(4 * MINUTE);
    expect(sent.slice(2).map(({ schedule, scheduledAt }) => [schedule, scheduledAt])).toEqual([
      ['often', '2027-01-31T03:02:00Z'],
      ['often', '2027-01-31T03:04:00Z'],
    ]);
    await scheduler.stop();
    await pass(10 * MINUTE);
    expect(sent).toHaveLength(4);
  });

  it('repeats a tick that the queue does not take, holds up no other, and says so when it would be late', async () => {
    let down = true;
    const { sent, problems, pass } = stage(
      { often: { rate: '1 minute', type: 'poll', lateAfterMs: 2 * MINUTE } },
      () => (down ? 'failed' : 'sent'),
    );
    await pass(4 * MINUTE);
    expect(problems).toEqual([
      "schedule 'often': the tick of 2027-01-31T02:59:00Z was not sent: down",
      "schedule 'often': the tick of 2027-01-31T03:00:00Z was not sent: down",
    ]);
    down = false;
    await pass(2 * MINUTE);
    expect(sent.map(({ scheduledAt }) => scheduledAt).sort()).toEqual([
      ...['2027-01-31T03:01:00Z', '2027-01-31T03:02:00Z', '2027-01-31T03:03:00Z', '2027-01-31T03:04:00Z'],
    ]);
    expect(problems).toHaveLength(2);
  });
});
