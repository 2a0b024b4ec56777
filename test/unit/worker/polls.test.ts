import { expect, it } from 'vitest';
import { defaultSettings } from '../../../lib/settings/settings.ts';
import { createPolls } from '../../../lib/worker/intake/polls.ts';
import type { Slots } from '../../../lib/worker/intake/slots.ts';
import type { WorkerParts } from '../../../lib/worker/worker-parts.ts';

it('asks for as many messages as were ready when the poll was decided, never for none', async () => {
  const asked: number[] = [];
  let free = 10;
  let paces: number[] = [];
  const slots = { limit: 10, taken: 0, free: () => free, freedPerMs: () => paces.shift() ?? 0 };
  const never = new AbortController().signal;
  const parts = {
    clock: { monotonic: () => 0, sleep: () => Promise.resolve() },
    settings: defaultSettings,
    cells: { isReady: () => true },
    crashThrottle: { hostPausedMs: () => 0 },
    clockCheck: { isSound: async () => true },
    telemetry: { error: expect.unreachable },
    queue: {
      async receive({ max }: { readonly max: number }) {
        asked.push(max);
        free = 0;
        return Array.from({ length: asked.length === 1 ? max : 0 }, (_, n) => ({ messageId: `${n}` }));
      },
    },
  };
  const polls = createPolls({
    parts: parts as unknown as WorkerParts,
    slots: slots as unknown as Slots,
    isReachable: async () => true,
    inHand: () => 0,
    take: () => {},
    draining: never,
    hurry: never,
  });
  polls.consider();
  await polls.lastPolls();
  expect(polls.isBacklog()).toBe(true);
  // Jobs end fast at the first look; a moment later the same jobs spread over a longer time.
  paces = [1];
  polls.consider();
  await polls.lastPolls();
  expect(asked).toEqual([10, 10]);
});
