import type { JobStatus, LeaseEntry } from '../../protocol/job.ts';
import type { Settings } from '../../settings/settings.ts';
import { isPauseGroup, partsOfGroup } from '../../wire/limits.ts';
import { formatAge, formatRoughly } from '../inspect/format-duration.ts';
import { leasePhase } from '../inspect/lease-phase.ts';
import { nameOfGroup } from '../inspect/parked.ts';
import type { Colors } from './terminal/output.ts';

type Paint = (text: string) => string;

export function statusCell(status: string, colors: Colors): readonly [string, Paint] {
  const paint: Partial<Record<string, Paint>> = {
    pending: colors.cyan,
    running: colors.yellow,
    done: colors.green,
    failed: colors.red,
    quarantined: colors.red,
    cancelled: colors.magenta,
  } satisfies Record<JobStatus | 'quarantined', Paint>;
  return [status, paint[status] ?? String];
}

export function paintStatus(status: string, colors: Colors): string {
  const [text, paint] = statusCell(status, colors);
  return paint(text);
}

export function leaseCell(
  entry: Pick<LeaseEntry, 'status' | 'leaseUntil' | 'notBefore' | 'dispatches'> & {
    readonly waitsFor?: string;
  },
  now: number,
  settings: Pick<Settings, 'skewMs'>,
  colors: Colors,
): readonly [string, Paint] {
  const age = (at: number) => formatAge(at, now, formatRoughly);
  if (entry.status === 'running') {
    const when = age(entry.leaseUntil);
    switch (leasePhase(entry.leaseUntil, now, settings)) {
      case 'live':
        return [`lease ends ${when}`, String];
      case 'ended':
        return [`lease ended ${when}`, colors.yellow];
      case 'lapsed':
        return [`LAPSED ${when}`, colors.red];
    }
  }
  if (entry.waitsFor !== undefined) {
    const group = nameOfGroup(partsOfGroup(entry.waitsFor));
    return [isPauseGroup(entry.waitsFor) ? `parked: ${group} is paused` : `parked for ${group}`, String];
  }
  if (now < entry.notBefore) return [`due ${age(entry.notBefore)}`, String];
  if (now < entry.leaseUntil) return [`queued, next hint ${age(entry.leaseUntil)}`, String];
  return entry.dispatches === 0
    ? ['due, waiting for the reaper', colors.yellow]
    : [`hint overdue since ${age(entry.leaseUntil)}`, colors.yellow];
}
