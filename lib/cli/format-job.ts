import { formatAge } from '../inspect/format-duration.ts';
import { leasePhase } from '../inspect/lease-phase.ts';
import type { JobStatus, LeaseEntry } from '../protocol/job.ts';
import type { Settings } from '../settings/settings.ts';
import type { Colours } from './output.ts';

/** The status in its colour: green is good, red needs attention, yellow is under way. */
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
    const when = age(entry.leaseUntil);
    switch (leasePhase(entry.leaseUntil, now, settings)) {
      case 'live':
        return `lease ends ${when}`;
      case 'ended':
        return colours.yellow(`lease ended ${when}`);
      case 'lapsed':
        return colours.red(`LAPSED ${when}`);
    }
  }
  if (now < entry.notBefore) return `due ${age(entry.notBefore)}`;
  if (now < entry.leaseUntil) return `in the queue, next hint ${age(entry.leaseUntil)}`;
  return colours.yellow(
    entry.dispatches === 0 ? 'due, waiting for the reaper' : `hint overdue since ${age(entry.leaseUntil)}`,
  );
}
