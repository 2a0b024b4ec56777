import { lapsesAt } from '../protocol/decisions/decide-reap.ts';
import type { JobStatus, LeaseEntry } from '../protocol/job.ts';
import type { Settings } from '../settings/settings.ts';
import type { Colours } from './output.ts';
import { formatAge } from './time.ts';

/** The status in its colour: green is good, red wants somebody, yellow is under way. */
export function paintStatus(status: string, colours: Colours): string {
  const paint: Partial<Record<string, (text: string) => string>> = {
    pending: colours.cyan,
    running: colours.yellow,
    done: colours.green,
    failed: colours.red,
    cancelled: colours.magenta,
  } satisfies Partial<Record<JobStatus, (text: string) => string>>;
  return (paint[status] ?? String)(status);
}

/** What the lease of an unfinished job says about its next moment. */
export function describeLease(
  entry: Pick<LeaseEntry, 'status' | 'leaseUntil' | 'notBefore' | 'dispatches'>,
  now: number,
  settings: Pick<Settings, 'skewMs' | 'graceMs'>,
  colours: Colours,
): string {
  const age = (at: number) => formatAge(at, now);
  if (entry.status === 'running') {
    if (now < entry.leaseUntil) return `lease ends ${age(entry.leaseUntil)}`;
    if (now < lapsesAt(entry, settings)) return colours.yellow(`lease ended ${age(entry.leaseUntil)}`);
    return colours.red(`LAPSED ${age(entry.leaseUntil)}`);
  }
  if (now < entry.notBefore) return `due ${age(entry.notBefore)}`;
  if (now < entry.leaseUntil) return `in the queue, new hint ${age(entry.leaseUntil)}`;
  return colours.yellow(
    entry.dispatches === 0 ? 'due, waits for the reaper' : `hint overdue since ${age(entry.leaseUntil)}`,
  );
}
