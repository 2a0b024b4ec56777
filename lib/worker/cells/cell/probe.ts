import { readdirSync, readFileSync } from 'node:fs';

// Captured before any handler can replace them.
const { now } = Date;
const { stringify } = JSON;

const FULL = 0.8;
const SLOWEST_MS = 1000;
/** A busy machine may delay a few. */
const LATE_PULSES = 4;
const SAMPLE = { text: 'a', list: [1, null] };
const SAMPLE_TEXT = stringify(SAMPLE);

export type Probe = ReturnType<typeof createProbe>;

export function createProbe() {
  let hasFired = false;
  let unfired = 0;
  const brokenGlobal = (): string | undefined => {
    if (hasFired && unfired > LATE_PULSES) return 'setTimeout does not fire';
    if (Math.abs(Date.now() - now()) > SLOWEST_MS) return 'Date.now() is wrong';
    if (JSON.stringify(SAMPLE) !== SAMPLE_TEXT || stringify(JSON.parse(SAMPLE_TEXT)) !== SAMPLE_TEXT)
      return 'JSON gives wrong results';
    const limit = maxDescriptors();
    const open = limit === undefined ? 0 : readdirSync('/proc/self/fd').length;
    return open > FULL * (limit ?? open) ? `${open} of ${limit} descriptors are open` : undefined;
  };
  return {
    beat(): void {
      unfired += 1;
      try {
        const fired = () => {
          hasFired = true;
          unfired = 0;
        };
        setTimeout(fired, 0).unref();
      } catch {
        // Counts as a timer that does not fire.
      }
    },
    /** After a failure, also checks what many handlers tolerate. */
    fault(hasFailed: boolean): string | undefined {
      try {
        return brokenGlobal() ?? (hasFailed ? changedPrototype() : undefined);
      } catch (error) {
        return `the check failed: ${error}`;
      }
    },
  };
}

function maxDescriptors(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const [, most] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
  return most === undefined ? undefined : Number(most);
}

function changedPrototype(): string | undefined {
  for (const name in {}) return `Object.prototype has '${name}'`;
  return undefined;
}
