import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ExitCode, exitCodes } from './cli-error.ts';
import type { SystemOptions } from './find-system.ts';
import type { System } from './system.ts';
import { createOutput, type Output, type OutputOptions } from './terminal/output.ts';
import type { Terminal } from './terminal/terminal.ts';
import { parseDuration, parseInstant } from './terminal/time.ts';

/** What a command is given to register itself with. */
export interface CliContext {
  readonly terminal: Terminal;
  /** Sets the code with which the process will end. */
  end(code: ExitCode): void;
}

/** Adds `--json`, which every command has. */
export const withJson = (command: Command): Command =>
  command.option('--json', 'print one JSON document instead of text');

/** Adds `--wide`, for commands that print tables. */
export const withWide = (command: Command): Command =>
  command.option('--wide', 'cut nothing and leave no column out, however wide the lines get');

/** Adds the options that say which system to work on. */
export function withSystem(command: Command): Command {
  const option = (flags: string, says: string) =>
    command.addOption(
      new Option(flags, says).helpGroup('System (default: the environment, then a local stack):'),
    );
  option('--table <name>', 'jobs table (default: LEASEHOLD_TABLE_NAME)');
  option('--queue-url <url>', 'job queue (default: LEASEHOLD_QUEUE_URL)');
  option('--region <region>', 'AWS region (default: AWS_REGION, then the profile)');
  option('--dynamodb-endpoint <url>', 'for local engines (default: AWS_ENDPOINT_URL_DYNAMODB)');
  option('--sqs-endpoint <url>', 'for local engines (default: AWS_ENDPOINT_URL_SQS)');
  return withJson(command);
}

/** Adds a worked example to the help. */
export const withExamples = (command: Command, ...examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`);

/** Runs a command's body with an open system, closes it, and takes the body's exit code. */
export async function onSystem(
  context: CliContext,
  options: SystemOptions,
  body: (system: System, output: Output) => Promise<ExitCode | undefined>,
): Promise<void> {
  const output = createOutput(context.terminal, options);
  const { openSystem } = await import('./system.ts');
  const system = await openSystem(options, context.terminal);
  try {
    context.end((await body(system, output)) ?? exitCodes.ok);
  } finally {
    system.close();
  }
}

/** Runs a command's body that needs no system. */
export async function withoutSystem(
  context: CliContext,
  options: OutputOptions,
  body: (output: Output) => Promise<ExitCode | undefined>,
): Promise<void> {
  context.end((await body(createOutput(context.terminal, options))) ?? exitCodes.ok);
}

/** Reads a duration option; commander shows the message with the option's name. */
export function durationOption(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Give a duration such as 30s, 10m, 1h30m or 2d.');
  return ms;
}

/** Reads an instant option, kept as text until the clock is known. */
const instantOption =
  (orElse: string) =>
  (text: string): string => {
    if (parseInstant(text, 0, 'ago') === undefined)
      throw new InvalidArgumentError(`Give an ISO 8601 instant such as 2026-03-01T09:00, or ${orElse}.`);
    return text;
  };

export const pastOption = instantOption('how long ago, such as 2h');
export const futureOption = instantOption('how long from now, such as 2h');

/** Reads a whole number within limits. */
export const numberOption =
  (lowest: number, highest: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isSafeInteger(value) || value < lowest || value > highest)
      throw new InvalidArgumentError(`Give a whole number from ${lowest} to ${highest}.`);
    return value;
  };

/** Reads a number above zero that may have a fraction. */
export function positiveOption(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give a number above 0.');
  return value;
}

/** Gathers an option that may be given several times, or with commas. */
export const listOption = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  ...text.split(',').filter((part) => part !== ''),
];

/** Any text: rows that were edited by hand and rejected messages are looked at, too. */
export function parseJobId(value: string): string {
  if (value === '')
    throw new InvalidArgumentError('A job id has at least one character; `leasehold ls` lists them.');
  return value;
}

export const parseJobIds = (value: string, before: readonly string[] = []): string[] => [
  ...before,
  parseJobId(value),
];
