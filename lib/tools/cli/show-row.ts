import { isFinished, type Job, leaseEntryOf } from '../../protocol/job.ts';
import type { Settings } from '../../settings/settings.ts';
import { SET_AT_FIRST_CLAIM } from '../inspect/facts.ts';
import { formatDuration } from '../inspect/format-duration.ts';
import { leaseCell, paintStatus } from './format-job.ts';
import { wholeJob } from './read-job.ts';
import type { Output } from './terminal/output.ts';
import type { Terminal } from './terminal/terminal.ts';
import { formatInstantAndAge } from './terminal/time.ts';

export function showRow(job: Job, settings: Settings, output: Output, terminal: Terminal): void {
  output.json(wholeJob(job));
  if (output.isJson) return;
  const now = terminal.clock.now();
  const { colors } = output;
  const instant = (at: number | undefined) =>
    at === undefined ? undefined : formatInstantAndAge(at, now, terminal);
  const fields: [string, string | undefined][] = [
    ['job', colors.bold(job.jobId)],
    ['type', job.type],
    [
      'status',
      paintStatus(job.status, colors) +
        (isFinished(job) ? '' : `, ${painted(leaseCell(leaseEntryOf(job), now, settings, colors))}`),
    ],
    [
      'attempt',
      `${job.attempt} (errors ${job.errors}, crashes ${job.crashes}, lapses ${job.lapses}, releases ${job.releases})`,
    ],
    ['budgets', budgetsOf(job)],
    ['lease', job.leaseMs === undefined ? SET_AT_FIRST_CLAIM : formatDuration(job.leaseMs)],
    ['owner', job.leaseOwner],
    ['created', instant(job.createdAt)],
    ['started', instant('startedAt' in job ? job.startedAt : undefined)],
    ['last heartbeat', instant(job.status === 'running' ? job.heartbeatAt : undefined)],
    ['lease until', instant(isFinished(job) ? undefined : job.leaseUntil)],
    ['not before', instant(job.status === 'pending' ? job.notBefore : undefined)],
    ['waits for', job.status === 'pending' ? job.waitsFor : undefined],
    ['waits since', instant(job.status === 'pending' ? job.waitsSince : undefined)],
    ['key', job.key],
    ['finished', instant(isFinished(job) ? job.finishedAt : undefined)],
    ['kept until', instant(isFinished(job) ? job.expiresAt * 1000 : undefined)],
    ['cancel requested', job.cancelRequested ? 'yes' : undefined],
    ['last error', job.lastError],
    ['changed by', job.changedBy],
  ];
  for (const [name, value] of fields)
    if (value !== undefined) output.say(`${colors.dim(name.padEnd(16))} `, value);
  showValues(output, job);
}

const budgetsOf = ({ maxAttempts, maxCrashes }: Job): string =>
  maxAttempts === undefined || maxCrashes === undefined
    ? SET_AT_FIRST_CLAIM
    : `${maxAttempts} errors and crashes, ${maxCrashes} crashes`;

const painted = ([text, paint]: ReturnType<typeof leaseCell>): string => paint(text);

function showValues(output: Output, job: Job): void {
  const values: [string, unknown][] = [
    ['payload', asJson(job.payload)],
    [`checkpoint ${job.checkpointSeq}`, job.checkpoint],
    ['progress', job.progress],
    ['result', job.status === 'done' ? job.result : undefined],
    ['message as received', job.status === 'failed' ? job.rawMessage?.text : undefined],
  ];
  for (const [name, value] of values) {
    if (value === undefined) continue;
    output.line(output.colors.dim(name));
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
    output.say('  ', text);
  }
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
