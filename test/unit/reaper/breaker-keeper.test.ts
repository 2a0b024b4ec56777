import { describe, expect, it } from 'vitest';
import { keepBreaker } from '../../../lib/reaper/breaker-keeper.ts';
import { createKeptTelemetry } from '../../../lib/testing/kept-telemetry.ts';

const stage = (isOpen?: boolean) => {
  const kept: boolean[] = [];
  const telemetry = createKeptTelemetry();
  const broken = { is: false };
  const place = {
    async keepBreaker(open: boolean) {
      if (broken.is) throw new Error('no answer');
      kept.push(open);
    },
  };
  return { kept, telemetry, broken, keeper: keepBreaker({ telemetry }, place, isOpen) };
};

describe('the breaker’s state', () => {
  it('is written when it changes, and not again while it stays', async () => {
    const { kept, keeper } = stage();
    await keeper.swept(false);
    expect(kept).toEqual([]);
    await keeper.opened();
    await keeper.opened();
    await keeper.swept(true);
    await keeper.swept(false);
    expect(kept).toEqual([true, false]);
  });

  it('is taken over from the reaper before', async () => {
    const { kept, keeper } = stage(true);
    await keeper.opened();
    expect(kept).toEqual([]);
    await keeper.swept(false);
    expect(kept).toEqual([false]);
  });

  it('holds up no sweep when it cannot be written, is told, and tried again', async () => {
    const { kept, keeper, broken, telemetry } = stage();
    broken.is = true;
    await keeper.opened();
    expect(telemetry.lines).toMatchObject([{ level: 'error', message: 'the breaker’s state was not kept' }]);
    broken.is = false;
    await keeper.swept(true);
    expect(kept).toEqual([true]);
  });
});
