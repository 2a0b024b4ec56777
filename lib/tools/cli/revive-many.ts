import { hintsFor } from '../../client/act-on-job.ts';
import { type ListedJob, listFailed } from '../../client/list-jobs.ts';
import type { Hint } from '../../protocol/ports.ts';
import { BAD_MESSAGE_TYPE } from '../../wire/table.ts';
import { counted } from '../inspect/counted.ts';
import { formatAge } from '../inspect/format-duration.ts';
import { type ExitCode, exitCodes } from './cli-error.ts';
import { type Operated, operate, sendHints } from './operate.ts';
import type { System } from './system/system.ts';
import { confirmed } from './terminal/confirmed.ts';
import { firstLine, type Output } from './terminal/output.ts';
import { createProgress } from './terminal/progress.ts';
import type { Terminal } from './terminal/terminal.ts';
import { parseInstant } from './terminal/time.ts';

interface FailureFilter {
  readonly type?: readonly string[];
  readonly error?: string;
  readonly since?: string;
  readonly until?: string;
  readonly quarantined?: boolean;
}

export interface ReviveManyOptions extends FailureFilter {
  readonly now?: boolean;
  readonly limit: number;
  readonly rate: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const GROUP = 10;
const NAMED = 20;

export async function reviveMany(
  terminal: Terminal,
  system: System,
  output: Output,
  options: ReviveManyOptions,
): Promise<ExitCode> {
  const { chosen, rejected, untold } = await choose(system, options, terminal.clock.now());
  for (const message of untold) output.note(message);
  if (rejected > 0)
    output.note(
      `${counted(rejected, 'rejected message')} (${BAD_MESSAGE_TYPE}) cannot be run again, because they cannot be read. Have their producers send valid ones.`,
    );
  if (options.dryRun === true || chosen.length === 0) {
    sayOnly(output, chosen, terminal.clock.now());
    return rejected > 0 && chosen.length === 0 ? exitCodes.refused : exitCodes.ok;
  }
  system.queueUrl();
  if (!(await confirmed(terminal, questionOf(chosen.length, options), options))) return exitCodes.refused;
  const results = await reviveAll(terminal, system, output, chosen, options);
  const revived = results.filter((result) => result.outcome === 'written').length;
  const refused = results.filter((result) => result.outcome !== 'written');
  output.json({ revived, refused, interrupted: terminal.interrupted.aborted });
  output.line(`${output.colors.green('revived')} ${counted(revived, 'job')}`);
  for (const { jobId, message } of refused)
    if (!output.isJson) output.note(`${output.colors.red('✗')} ${jobId}  ${message}`);
  if (terminal.interrupted.aborted)
    output.note(`Interrupted: ${counted(chosen.length - results.length, 'job')} left unchanged.`);
  return refused.length > 0 || terminal.interrupted.aborted ? exitCodes.refused : exitCodes.ok;
}

function questionOf(count: number, { type, quarantined, rate }: ReviveManyOptions): string {
  const jobs = counted(count, quarantined === true ? 'quarantined job' : 'failed job');
  return `Run ${jobs}${type === undefined ? '' : ` of ${type.join(', ')}`} again, ${rate} per second?`;
}

async function choose(
  system: System,
  options: ReviveManyOptions,
  now: number,
): Promise<{
  readonly chosen: readonly ListedJob[];
  readonly rejected: number;
  readonly untold: ReadonlySet<string>;
}> {
  const since = options.since === undefined ? undefined : parseInstant(options.since, now, 'ago');
  const before = options.until === undefined ? undefined : parseInstant(options.until, now, 'ago');
  const chosen: ListedJob[] = [];
  const untold = new Set<string>();
  let rejected = 0;
  let cursor: string | undefined;
  const wanted = options.error?.toLowerCase();
  do {
    const page = await listFailed(system, {
      types: options.type,
      onlyQuarantined: options.quarantined,
      since,
      before,
      limit: 500,
      cursor,
    });
    for (const job of page.jobs) {
      if (wanted !== undefined && !job.lastError?.toLowerCase().includes(wanted)) continue;
      if (job.type === BAD_MESSAGE_TYPE) rejected++;
      else chosen.push(job);
    }
    for (const message of page.bad) untold.add(message);
    cursor = page.cursor;
  } while (cursor !== undefined && chosen.length < options.limit);
  return { chosen: chosen.slice(0, options.limit), rejected, untold };
}

function sayOnly(output: Output, chosen: readonly ListedJob[], now: number): void {
  output.json({ revived: 0, dryRun: true, wouldRevive: chosen.map((job) => job.jobId) });
  if (chosen.length > 0)
    output.table({
      columns: [
        { title: 'JOB', min: 36, cut: 'middle' },
        { title: 'TYPE', min: 8, cut: 'middle', leaveOut: 1 },
        { title: 'FAILED', leaveOut: 2 },
        { title: 'LAST ERROR', min: 20 },
      ],
      rows: chosen
        .slice(0, NAMED)
        .map((job) => [
          job.jobId,
          job.type,
          job.since === undefined ? '' : formatAge(job.since, now),
          firstLine(job.lastError ?? ''),
        ]),
    });
  const more = chosen.length > NAMED ? ` (${NAMED} are shown)` : '';
  output.line(
    chosen.length === 0
      ? 'No failed job matches; nothing to run again.'
      : `${counted(chosen.length, 'job')} would run again${more}; nothing was changed.`,
  );
}

async function reviveAll(
  terminal: Terminal,
  system: System,
  output: Output,
  chosen: readonly ListedJob[],
  { rate, now }: ReviveManyOptions,
): Promise<Operated[]> {
  const { clock, interrupted } = terminal;
  const progress = createProgress(terminal, output, 'reviving', chosen.length);
  const results: Operated[] = [];
  const from = clock.monotonic();
  for (let i = 0; i < chosen.length && !interrupted.aborted; i += GROUP) {
    const group = chosen.slice(i, i + GROUP).map((job) => job.jobId);
    const hints: Hint[] = [];
    const done = await operate(system, group, {
      act: 'revive',
      async apply(jobId) {
        const outcome = await system.store.revive(jobId, { now });
        hints.push(...hintsFor(outcome, clock.now()));
        return outcome;
      },
      done: () => 'pending again',
    });
    results.push(...done);
    await sendHints(system, output, hints);
    progress.update(results.length);
    const ahead = (results.length / rate) * 1000 - (clock.monotonic() - from);
    if (ahead > 0 && results.length < chosen.length)
      await clock.sleep(ahead, interrupted).catch(() => undefined);
  }
  progress.end();
  return results;
}
