import type { LastHour } from './health.ts';

type Lines = Readonly<Record<string, readonly (number | null)[]>>;

/** Without the service's name, only the figures of its account and queue are known. */
export function lastHourOf(lines: Lines, hasService: boolean): LastHour {
  const sum = (name: string) => lines[name]?.reduce((total: number, each) => total + (each ?? 0), 0);
  const own = (name: string) => (hasService ? (sum(name) ?? 0) : undefined);
  const delays = lines.delayMs?.filter((each) => each !== null) ?? [];
  return {
    done: own('done'),
    failed: own('failed'),
    crashed: own('crashed'),
    reclaimed: own('reclaimed'),
    throttled: own('throttled'),
    refusedInvocations: sum('refused'),
    reclaimDelayMs: delays.length === 0 ? undefined : Math.max(...delays),
  };
}
