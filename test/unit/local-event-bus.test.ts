import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BusEvent, startEventBus } from '../../lib/tools/dev/event-bus.ts';

const events: BusEvent[] = [];
let bus: Awaited<ReturnType<typeof startEventBus>>;
beforeAll(async () => {
  bus = await startEventBus((event) => {
    if (event.name === 'JobFailed') throw new Error('not for this listener');
    events.push(event);
  });
});
afterAll(() => bus.stop());

const put = async (body: unknown) => {
  const headers = { 'x-amz-target': 'AWSEvents.PutEvents' };
  const reply = await fetch(bus.endpoint, { method: 'POST', headers, body: JSON.stringify(body) });
  return reply.status;
};
const entry = (DetailType: string, Detail: string) => ({ Source: 'leasehold', DetailType, Detail });

it('a bus outlives whatever a handler puts on it', async () => {
  expect(await put({ Entries: [null, 5, {}, entry('JobDone', '{'), entry('JobDone', 'null')] })).toBe(200);
  expect([await put(null), await put({ Entries: [entry('JobFailed', '{}')] })]).toEqual([400, 400]);
  expect(await put({ Entries: 'none' })).toBe(200);
  expect(await put({ Entries: [entry('JobDone', '{"jobId":"a"}')] })).toBe(200);
  expect(events).toEqual([{ name: 'JobDone', detail: { jobId: 'a' } }]);
});
