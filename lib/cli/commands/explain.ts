import { Command } from 'commander';
import { factsOf } from '../../inspect/facts.ts';
import { formatAge } from '../../inspect/format-duration.ts';
import type { MomentKind } from '../../inspect/moment.ts';
import { type NextStep, nextSteps } from '../../inspect/next-steps.ts';
import { type TimelineEvent, timelineOf } from '../../inspect/timeline.ts';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, onSystem, withExamples, withSystem } from '../define-command.ts';
import type { SystemOptions } from '../find-system.ts';
import { paintStatus } from '../format-job.ts';
import type { Colours, Output } from '../output.ts';
import { readJob } from '../read-job.ts';
import type { Terminal } from '../terminal.ts';
import { formatInstant } from '../time.ts';

/** `leasehold explain`: one job's whole life, and what happens next and when. */
export function explainCommand(context: CliContext): Command {
  const command = new Command('explain')
    .description('tell the whole life of a job: claims, heartbeats, reclaims, causes, and what happens next')
    .argument('<id>', 'job id')
    .action((id: string, options: SystemOptions) =>
      onSystem(context, options, async (system, output) => {
        const now = context.terminal.clock.now();
        const job = await readJob(system, id);
        const { jobId, type, status, attempt } = job;
        const story = {
          events: timelineOf(job, system.settings).map(storyEvent),
          facts: factsOf(job),
          next: nextSteps(job, now, system.settings),
        };
        output.json({ jobId, type, status, attempt, now, ...story });
        output.line(`${output.colours.bold(jobId)}  ${type}  ${paintStatus(status, output.colours)}`);
        tell(story, now, output, context.terminal);
        return exitCodes.ok;
      }),
    );
  return withExamples(withSystem(command), 'leasehold explain report-2026-03');
}

/** An event as `--json` prints it: every ending of a claim that no reaper brought about is one `what`. */
interface StoryEvent {
  readonly at: number;
  readonly what: (typeof NAMED)[number] | 'ended';
  readonly attempt?: number;
  readonly says: string;
}

interface Story {
  readonly events: readonly StoryEvent[];
  readonly facts: readonly string[];
  readonly next: readonly NextStep[];
}

const NAMED = [
  'created',
  'claimed',
  'heartbeat',
  'reclaimed',
  'fenced',
  'cancelRequested',
  'revived',
  'finished',
] as const;
const whatOf = (kind: MomentKind): StoryEvent['what'] => NAMED.find((name) => name === kind) ?? 'ended';

const storyEvent = ({ at, kind, attempt, says, text }: TimelineEvent): StoryEvent => ({
  at,
  what: whatOf(kind),
  attempt,
  says: text === undefined ? says : `${says}: ${text}`,
});

function tell({ events, facts, next }: Story, now: number, output: Output, terminal: Terminal): void {
  const { colours } = output;
  output.line();
  output.table({
    head: ['WHEN', 'AGE', 'ATTEMPT', 'WHAT'],
    rows: events.map((event) => [
      formatInstant(event.at, terminal, 'ms'),
      formatAge(event.at, now),
      event.attempt === undefined ? '' : `#${event.attempt}`,
      paintEvent(event, colours),
    ]),
  });
  output.line();
  for (const fact of facts) output.line(`${colours.dim('·')} ${fact}`);
  output.line();
  output.line(colours.bold('What happens next'));
  for (const step of next)
    output.line(
      step.at === undefined
        ? `${colours.cyan('→')} ${step.says}`
        : `${colours.cyan('→')} ${colours.bold(formatAge(step.at, now))} (${formatInstant(step.at, terminal)}): ${step.says}`,
    );
}

function paintEvent({ what, says }: StoryEvent, colours: Colours): string {
  switch (what) {
    case 'reclaimed':
      return colours.yellow(says);
    case 'fenced':
      return colours.magenta(says);
    case 'finished':
      return says.startsWith('done')
        ? colours.green(says)
        : says.startsWith('failed')
          ? colours.red(says)
          : says;
    default:
      return says;
  }
}
