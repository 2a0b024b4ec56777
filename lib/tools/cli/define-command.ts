import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ExitCode, exitCodes } from './cli-error.ts';
import type { SystemOptions } from './system/find-system.ts';
import type { System } from './system/system.ts';
import { createOutput, type Output, type OutputOptions } from './terminal/output.ts';
import type { Terminal } from './terminal/terminal.ts';
import { parseDuration, parseInstant } from './terminal/time.ts';

export interface CliContext {
  readonly terminal: Terminal;
  end(code: ExitCode): void;
}

export const withJson = (command: Command): Command =>
  command.option('--json', 'print one JSON document instead of text');

export const withWide = (command: Command): Command => command.option('--wide', 'show every column in full');

export function withSystem(command: Command): Command {
  const option = (flags: string, message: string) =>
    command.addOption(
      new Option(flags, message).helpGroup('System (default: the environment, then a local stack):'),
    );
  option(
    '--service <name>',
    'deployment, whose table and queue are looked up (default: LEASEHOLD_SERVICE_NAME)',
  );
  option('--table <name>', 'jobs table (default: LEASEHOLD_TABLE_NAME)');
  option('--queue-url <url>', 'job queue (default: LEASEHOLD_QUEUE_URL)');
  option('--region <region>', 'AWS region (default: AWS_REGION, then the profile)');
  return withJson(command);
}

export const withExamples = (command: Command, ...examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`);

export async function onSystem(
  context: CliContext,
  options: SystemOptions,
  body: (system: System, output: Output) => Promise<ExitCode | undefined>,
): Promise<void> {
  const output = createOutput(context.terminal, options);
  const { openSystem } = await import('./system/system.ts');
  const system = await openSystem(options, context.terminal);
  try {
    context.end((await body(system, output)) ?? exitCodes.ok);
  } finally {
    system.close();
  }
}

export async function withoutSystem(
  context: CliContext,
  options: OutputOptions,
  body: (output: Output) => Promise<ExitCode | undefined>,
): Promise<void> {
  context.end((await body(createOutput(context.terminal, options))) ?? exitCodes.ok);
}

/** Commander adds the option's name to the message. */
export function durationOption(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Give a duration such as 30s, 10m, 1h30m or 2d.');
  return ms;
}

/** Stays text until the clock is known. */
const instantOption =
  (orElse: string) =>
  (text: string): string => {
    if (parseInstant(text, 0, 'ago') === undefined)
      throw new InvalidArgumentError(`Give an ISO 8601 instant such as 2026-03-01T09:00, or ${orElse}.`);
    return text;
  };

export const pastOption = instantOption('how long ago, such as 2h');
export const futureOption = instantOption('how long from now, such as 2h');

export const numberOption =
  (lowest: number, highest: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isSafeInteger(value) || value < lowest || value > highest)
      throw new InvalidArgumentError(`Give a whole number from ${lowest} to ${highest}.`);
    return value;
  };

export function positiveOption(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give a number above 0.');
  return value;
}

export const listOption = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  ...text.split(',').filter((part) => part !== ''),
];

export function loaderOption(text: string, before?: Readonly<Record<string, string>>) {
  const [extension = '', loader = '', ...more] = text.split('=');
  if (!/^\../.test(extension) || loader === '' || more.length > 0)
    throw new InvalidArgumentError("Give an extension and one of esbuild's loaders, such as .sql=text.");
  return { ...before, [extension]: loader };
}

/** Accepts any text, because hand-edited rows and rejected messages need inspection too. */
export function parseJobId(value: string): string {
  if (value === '')
    throw new InvalidArgumentError('A job id has at least one character; `leasehold ls` lists them.');
  return value;
}

export const parseJobIds = (value: string, before: readonly string[] = []): string[] => [
  ...before,
  parseJobId(value),
];
