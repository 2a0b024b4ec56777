import { afterEach, expect, it, vi } from 'vitest';
import { onStopSignals } from '../../../lib/worker/hosts/stop-signals.ts';

afterEach(() => void vi.useRealTimers());

it('takes the echo of a signal for the same press, and a later one for another', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const stop = vi.fn();
  const stopListening = onStopSignals(['SIGUSR2'], stop);
  const press = (afterMs: number) => {
    vi.advanceTimersByTime(afterMs);
    process.emit('SIGUSR2');
    return stop.mock.calls.length;
  };
  expect([press(0), press(5), press(299), press(300)]).toEqual([1, 1, 1, 2]);
  stopListening();
  expect(press(1000)).toBe(2);
});
