import { systemRandom } from '../../../aws/clock.ts';
import { decideReap, lapseLimit, type ReapVerdict } from '../../../protocol/decisions/decide-reap.ts';
import type { LeaseEntry } from '../../../protocol/job.ts';
import type { Telemetry } from '../../../protocol/ports.ts';
import { allShards } from '../../../protocol/shards.ts';
import { allLeases } from '../../../protocol/store/all-leases.ts';
import type { SweepResult } from '../../../reaper/sweep.ts';
import { counted } from '../../inspect/counted.ts';
import { formatAge, formatDuration } from '../../inspect/format-duration.ts';
import { shortWorkerOf } from '../../inspect/worker-name.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import type { CliContext } from '../define-command.ts';
import type { System } from '../system/system.ts';
import type { Output } from '../terminal/output.ts';

const PAGE = 500;
const NAMED = 50;

export async function sweepOnce({ terminal }: CliContext, system: System, output: Output) {
  const { table, store, settings, clockGuard } = system;
  const queue = system.queue();
  if (!clockGuard.isSound())
    throw new CliError(
      `This machine's clock is ${formatDuration(clockGuard.offset()?.offsetMs ?? 0)} off DynamoDB's: it could reclaim jobs whose lease is live. Set the clock with NTP, then run 'leasehold doctor'`,
      exitCodes.refused,
    );
  const telemetry = notesOnly(output);
  const { sweep } = await import('../../../reaper/sweep.ts');
  const result = await sweep(
    {
      table,
      store,
      queue,
      telemetry,
      events: system.events ?? { publish: async () => {} },
      clock: terminal.clock,
      random: systemRandom,
      settings,
      clockGuard,
    },
    { shouldStop: () => terminal.interrupted.aborted },
  );
  const { mayHoldParked: _, ...told } = result;
  output.json(told);
  report(output, result, terminal.clock.now());
  const { skipped } = result;
  const isWhole =
    result.complete &&
    result.errors + skipped.unwritten + skipped.newer + skipped.bad + result.hintsFailed === 0;
  return isWhole ? exitCodes.ok : exitCodes.refused;
}

/** Drops counts, which the result has, and metrics, which belong to the deployed reaper. */
const notesOnly = (output: Output): Telemetry => ({
  info: (_, fields) => {
    if (fields?.reason !== undefined) output.note(`not everything could be done: ${fields.reason}`);
  },
  warn: (message, fields) =>
    output.note(fields?.reason === undefined ? message : `${message}: ${fields.reason}`),
  error: (message, error) =>
    output.note(`${message}: ${error instanceof Error ? error.message : String(error)}`),
  count: () => {},
  gauge: () => {},
});

function report(output: Output, result: SweepResult, now: number): void {
  const { colors } = output;
  const { reclaimed, quarantined, redispatched, cancelled, skipped } = result;
  output.line(
    `swept in ${formatDuration(result.durationMs)}: ${counted(reclaimed, 'job')} reclaimed, ${quarantined} quarantined, ${redispatched} sent another hint, ${cancelled} cancelled; ${counted(result.hintsSent, 'hint')} sent`,
  );
  const left = Object.entries(skipped).filter(([, count]) => count > 0);
  if (left.length > 0)
    output.line(
      colors.yellow(
        `left as they are: ${left.map(([why, count]) => `${count} ${whyLeft[why] ?? why}`).join(', ')}`,
      ),
    );
  if (result.nextLapseAt !== undefined)
    output.line(`the next lease may lapse ${formatAge(result.nextLapseAt, now)}`);
}

const whyLeft: Readonly<Record<string, string>> = {
  moved: 'changed since they were read',
  bad: "cannot be read (run 'leasehold doctor')",
  newer: 'of a newer version',
  unwritten: 'could not be written',
  overCap: 'left for the next sweep (one moves 1,000)',
  stopped: 'not reached',
};

export async function previewSweep({ terminal }: CliContext, system: System, output: Output) {
  const now = terminal.clock.now();
  const verdicts: { entry: LeaseEntry; verdict: ReapVerdict }[] = [];
  const bad: string[] = [];
  const { running, pending } = allShards(system.settings.shards);
  for await (const found of allLeases(system.table, {
    shards: [...running, ...pending],
    pageSize: PAGE,
    upTo: now,
  })) {
    if (found.entry === undefined) bad.push(found.bad.message);
    else {
      const verdict = decideReap(found.entry, { now, random: 0, settings: system.settings });
      if (verdict.kind !== 'leave') verdicts.push({ entry: found.entry, verdict });
    }
  }
  output.json({
    dryRun: true,
    verdicts: verdicts.map(({ entry, verdict }) => ({ jobId: entry.jobId, type: entry.type, ...verdict })),
    bad,
  });
  if (verdicts.length > 0)
    output.table({
      columns: [
        { title: 'JOB', min: 36, cut: 'middle' },
        { title: 'TYPE', min: 8, cut: 'middle', leaveOut: 2 },
        { title: 'LEASE ENDED', leaveOut: 3 },
        { title: 'OWNER', min: 10, cut: 'middle', leaveOut: 1 },
        { title: 'WOULD BE', min: 20 },
      ],
      rows: verdicts
        .slice(0, NAMED)
        .map(({ entry, verdict }) => [
          entry.jobId,
          entry.type,
          formatAge(entry.leaseUntil, now),
          output.width === Number.POSITIVE_INFINITY
            ? (entry.leaseOwner ?? '')
            : shortWorkerOf(entry.leaseOwner ?? ''),
          wouldBe(verdict, lapseLimit(entry, system.settings)),
        ]),
    });
  const shown = verdicts.length > NAMED ? ` (${NAMED} are shown)` : '';
  output.line(
    verdicts.length === 0
      ? 'No lease has lapsed; a sweep would change nothing.'
      : `A sweep would change ${counted(verdicts.length, 'job')}${shown}; nothing was changed.`,
  );
  for (const message of bad) output.note(message);
  return exitCodes.ok;
}

function wouldBe(verdict: ReapVerdict, lapseLimit: number): string {
  switch (verdict.kind) {
    case 'reclaim':
      return `given to the next worker (lapse ${verdict.lapses} of ${lapseLimit})`;
    case 'quarantine':
      return `quarantined (lapse ${verdict.lapses} of ${lapseLimit})`;
    case 'redispatch':
      return 'sent another hint';
    case 'cancel':
      return 'cancelled';
    case 'leave':
      return 'left as it is';
  }
}
