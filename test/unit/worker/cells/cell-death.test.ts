import { describe, expect, it } from 'vitest';
import { KILLED, settled, puppetStage as stage } from '../../../support/puppet-cell.ts';

/** Exit and the end of the channel come one after the other. */
const LAST_MESSAGES_MS = 250;

describe('a cell whose process has ended', () => {
  it('is dead when its channel is closed as well, and hears what came before that', async () => {
    const { clock, puppet, deaths, start } = stage();
    const ends = start(1);
    puppet.exit();
    await settled();
    expect(deaths).toEqual([]);
    puppet.send({ kind: 'ended', run: 1, end: { kind: 'returned', result: '"late"' } });
    expect(ends).toEqual([{ kind: 'returned', result: '"late"' }]);
    puppet.disconnect();
    await settled();
    expect(deaths).toMatchObject([{ runs: [] }]);
    expect([puppet.done.forgotten, clock.monotonic()]).toEqual([1, 0]);
    // No timer outlives it.
    expect(clock.sleepers).toBe(0);
  });

  it('is dead after a while although its channel stays open', async () => {
    const { clock, puppet, deaths } = stage();
    puppet.exit();
    await clock.advance(LAST_MESSAGES_MS - 1);
    expect([deaths, puppet.done.forgotten]).toEqual([[], 0]);
    await clock.advance(1);
    expect(deaths).toHaveLength(1);
    expect(puppet.done.forgotten).toBe(1);
  });

  it('dies once, however often its end is reported', async () => {
    const { puppet, deaths } = stage();
    puppet.exit({ code: null, signal: null, error: 'EPIPE' });
    puppet.exit();
    puppet.disconnect();
    await settled();
    puppet.exit();
    await settled();
    expect(deaths.map(({ cause }) => cause)).toEqual(['its process could not be started: EPIPE']);
    expect(puppet.done).toMatchObject({ ended: 1, forgotten: 1 });
  });
});

describe('a cell that closes its channel and lives', () => {
  it('is ended after a while, and that is the cause of its death', async () => {
    const { clock, puppet, deaths } = stage();
    puppet.disconnect();
    await settled();
    await clock.advance(LAST_MESSAGES_MS - 1);
    expect(puppet.done.ended).toBe(0);
    await clock.advance(1);
    expect(puppet.done.ended).toBe(1);
    puppet.exit(KILLED);
    await settled();
    expect(deaths.map(({ cause }) => cause)).toEqual([
      'a handler, or what it called, closed the channel to its host',
    ]);
  });

  it('is not blamed for it where its process ends in that time', async () => {
    const { clock, puppet, deaths } = stage();
    puppet.disconnect();
    await settled();
    await clock.advance(LAST_MESSAGES_MS - 1);
    puppet.exit(KILLED);
    await settled();
    await clock.advance(1);
    expect(deaths.map(({ cause }) => cause)).toEqual(['killed (SIGKILL) by another process than its host']);
    expect(puppet.done.ended).toBe(1);
  });
});
