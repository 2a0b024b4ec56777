import type { Job } from '../../protocol/job.ts';
import type { Settings } from '../../settings/settings.ts';
import { type Facts, factsOf, tellFacts } from '../inspect/facts.ts';
import { formatAge, formatRoughly } from '../inspect/format-duration.ts';
import { inOneLine, type MomentKind } from '../inspect/moment.ts';
import { type NextStep, nextSteps } from '../inspect/next-steps.ts';
import type { Wait } from '../inspect/parked.ts';
import { isQuarantined, type TimelineEvent, timelineOf } from '../inspect/timeline.ts';
import { shortWorkerOf, workerOf } from '../inspect/worker-name.ts';
import { paintStatus } from './format-job.ts';
import type { Colors, Output } from './terminal/output.ts';
import type { Terminal } from './terminal/terminal.ts';
import { formatDay, formatInstant, formatTime } from './terminal/time.ts';

interface Story {
  readonly job: Job;
  readonly events: readonly TimelineEvent[];
  readonly facts: Facts;
  readonly next: readonly NextStep[];
}

export function tellLife(job: Job, settings: Settings, output: Output, terminal: Terminal, wait: Wait): void {
  const now = terminal.clock.now();
  const story = {
    job,
    events: timelineOf(job),
    facts: factsOf(job),
    next: nextSteps(job, now, settings, wait),
  };
  const { jobId, type, status, attempt, lastError } = job;
  const { events, facts, next } = story;
  const quarantined = status === 'failed' ? isQuarantined(job) : undefined;
  output.json({ jobId, type, status, quarantined, attempt, now, lastError, events, facts, next, ...wait });
  if (!output.isJson) tell(story, now, output, terminal);
}

function tell({ job, events, facts, next }: Story, now: number, output: Output, terminal: Terminal): void {
  const { colors } = output;
  const isKilled = job.status === 'failed' && isQuarantined(job);
  const status = paintStatus(isKilled ? 'quarantined' : job.status, colors);
  output.line(`${colors.bold(job.jobId)}  ${job.type}  ${status}`);
  if (job.status === 'failed' && job.lastError !== undefined) {
    output.line();
    output.say('  ', job.lastError, colors.red);
  }
  tellEvents(events, now, output, terminal);
  output.line();
  for (const fact of tellFacts(facts, job.status)) output.say(`${colors.dim('·')} `, fact);
  output.line();
  output.line(colors.bold('What happens next'));
  for (const step of next)
    output.say(
      `${colors.cyan('→')} `,
      step.at === undefined
        ? step.message
        : `${colors.bold(formatAge(step.at, now))} (${formatInstant(step.at, terminal)}): ${step.message}`,
    );
}

/** Fits `59 min ago` and `in 14 d`. */
const AGE_WIDTH = 10;

function tellEvents(events: readonly TimelineEvent[], now: number, output: Output, terminal: Terminal): void {
  const { colors, width } = output;
  const isWide = width === Number.POSITIVE_INFINITY;
  const attempts = Math.max(...events.map(({ attempt = 0 }) => String(attempt).length)) + 1;
  let day = '';
  for (const event of events) {
    const today = formatDay(event.at, terminal);
    if (today !== day) {
      output.line();
      output.line(colors.dim(today));
    }
    day = today;
    const age = formatAge(event.at, now, formatRoughly).padEnd(AGE_WIDTH);
    const attempt = (event.attempt === undefined ? '' : `#${event.attempt}`).padEnd(attempts);
    const mark = `${formatTime(event.at, terminal)}  ${age}  ${attempt}  `;
    // The lines above and the last attempt already tell why it failed.
    const told = inOneLine(event.kind === 'finished' ? { ...event, text: undefined } : event);
    const message = isWide ? told : withShortOwner(told, event.by);
    output.say(mark, message, (text) => paint(event.kind, text, colors));
  }
}

/** Readers look for the worker, not for the long claim name. */
const withShortOwner = (text: string, by: string | undefined): string =>
  by === undefined || workerOf(by) === by ? text : text.replaceAll(by, shortWorkerOf(by));

function paint(kind: MomentKind, text: string, colors: Colors): string {
  switch (kind) {
    case 'reclaimed':
    case 'crashed':
    case 'retried':
      return colors.yellow(text);
    case 'failed':
      return colors.red(text);
    case 'fenced':
      return colors.magenta(text);
    case 'cancelRequested':
    case 'revived':
    case 'takenBack':
      return colors.cyan(text);
    case 'done':
      return colors.green(text);
    default:
      return text;
  }
}
