import { expect, it } from 'vitest';
import type { Overview } from '../../lib/client/overview.ts';
import { overviewLines } from '../../lib/tools/cli/overview-lines.ts';
import { createOutput } from '../../lib/tools/cli/terminal/output.ts';
import type { Terminal } from '../../lib/tools/cli/terminal/terminal.ts';

const NOW = 1_800_000_000_000;
const none = { count: 0, complete: true };
const output = createOutput({ hasColors: false, columns: 200 } as Terminal, {});
const lines = (over: object) =>
  overviewLines(
    {
      running: none,
      lapsed: none,
      pending: none,
      overdue: none,
      failed: {},
      parked: { all: none, groups: [], paused: [], limits: [], hasLimits: false },
      ...over,
    } as unknown as Overview,
    NOW,
    output,
  ).join('\n');

it.each([
  [NOW + 3_000, 'next sweep in 3 s, by any reaper'],
  [NOW - 2_800, 'next sweep now, by any reaper'],
])('never puts the next sweep into the past: %d', (wakeAt, text) => {
  expect(lines({ reaper: { wakeAt, term: 1 } })).toContain(text);
});

it('formats every count of the queue', () => {
  const queue = { visible: 12_345, inFlight: 1_000, delayed: 2_000 };
  expect(lines({ queue })).toContain('12,345  1,000 in flight, 2,000 delayed (approximate)');
});
