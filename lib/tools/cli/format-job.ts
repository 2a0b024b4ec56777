import type { JobStatus, LeaseEntry } from '../../protocol/job.ts';
import type { Settings } from '../../settings/settings.ts';
import { isPauseGroup, partsOfGroup } from '../../wire/limits.ts';
import { formatAge, formatRoughly } from '../inspect/format-duration.ts';
import { leasePhase } from '../inspect/lease-phase.ts';
import { nameOfGroup } from '../inspect/parked.ts';
import type { Colours } from './terminal/output.ts';

type Paint = (text: string) => string;

export function statusCell(status: string, colours: Colours): readonly [string, Paint] {
  const paint: Partial<Record<string, Paint>> = {
    pending: colours.cyan,
    running: colours.yellow,
    done: colours.green,
    failed: colours.red,
    quarantined: colours.red,
    cancelled: colours.magenta,
  } satisfies Record<JobStatus | 'quarantined', Paint>;
  return [status, paint[status] ?? String];
}

export function paintStatus(status: string, colours: Colours): string {
  const [text, paint] = statusCell(status, colours);
  return paint(text);
}

export function leaseCell(
  entry: Pick<LeaseEntry, 'status' | 'leaseUntil' | 'notBefore' | 'dispatches'> & {
    readonly waitsFor?: string;
  },
  now: number,
  settings: Pick<Settings, 'skewMs' | 'graceMs'>,
  colours: Colours,
): readonly [string, Paint] {
  const age = (at: number) => formatAge(at, now, formatRoughly);
  if (entry.status === 'running') {
    const when = age(entry.leaseUntil);
    switch (leasePhase(entry.leaseUntil, now, settings)) {
      case 'live':
        return [`lease ends ${when}`, String];
      case 'ended':
        return [`lease ended ${when}`, colours.yellow];
      case 'lapsed':
        return [`LAPSED ${when}`, colours.red];
    }
  }
  if (entry.waitsFor !== undefined) {
    const group = nameOfGroup(partsOfGroup(entry.waitsFor));
    return [isPauseGroup(entry.waitsFor) ? `parked: ${group} is paused` : `parked for ${group}`, String];
  }
  if (now < entry.notBefore) return [`due ${age(entry.notBefore)}`, String];
  if (now < entry.leaseUntil) return [`queued, next hint ${age(entry.leaseUntil)}`, String];
  return entry.dispatches === 0
    ? ['due, waiting for the reaper', colours.yellow]
    : [`hint overdue since ${age(entry.leaseUntil)}`, colours.yellow];
}
