import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createEmbeddedReaper } from '../../lib/reaper/embedded.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { eventSchemas } from '../../lib/wire/event-schemas.ts';
import type { LeaseholdEvent } from '../../lib/wire/events.ts';
import { reaperStage } from '../support/reaper-stage.ts';

describe('the page about events', () => {
  it('names every event that a reaper sends, and every field of its detail', async () => {
    const clock = createFakeClock();
    const { deps, claim, events } = reaperStage({ table: createMemoryTable(), clock });
    await claim('poison', { maxAttempts: 1 });
    const reaper = createEmbeddedReaper(deps);
    reaper.start();
    await clock.advance(40_000);
    for (let i = 0; i < 60; i++) await claim(`job-${i}`);
    await clock.advance(40_000);
    await reaper.stop();
    const sent = new Set(events.map(({ name }) => name));
    const ours: LeaseholdEvent['name'][] = [
      'ReaperLeadershipChanged',
      'JobFailed',
      'JobQuarantined',
      'JobReclaimed',
    ];
    expect([...sent].sort()).toEqual([...ours].sort());
    const page = readFileSync(new URL('../../docs/guides/events.md', import.meta.url), 'utf8');
    const named = (word: string) => page.includes(`\`${word}\``);
    for (const { name, detail } of events)
      expect([name, ...Object.keys(detail)].filter((word) => !named(word))).toEqual([]);
    expect(named('JobRetried')).toBe(true);
    // As the bus gets them: the adapter adds the service.
    for (const { name, detail } of events) {
      const schema = z.fromJSONSchema(eventSchemas[name] as never);
      expect(schema.safeParse({ service: 'test', ...detail }).error).toBeUndefined();
      for (const field of Object.keys(detail))
        expect(Object.keys(eventSchemas[name].properties)).toContain(field);
      expect(schema.safeParse(detail).success).toBe(false);
    }
  });
});
