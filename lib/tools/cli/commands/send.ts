import { createReadStream, existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { WaitTimedOutError } from '../../../client/errors.ts';
import { waitForEnd } from '../../../client/wait-for.ts';
import { isFinished, type Job } from '../../../protocol/job.ts';
import { formatAge } from '../../inspect/format-duration.ts';
import { checkJobs } from '../check-jobs.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import {
  type CliContext,
  durationOption,
  futureOption,
  numberOption,
  onSystem,
  withExamples,
  withSystem,
} from '../define-command.ts';
import { paintStatus } from '../format-job.ts';
import { wholeJob } from '../read-job.ts';
import { sendLines } from '../send-lines.ts';
import type { SystemOptions } from '../system/find-system.ts';
import type { System } from '../system/system.ts';
import type { Output } from '../terminal/output.ts';
import { parseInstant } from '../terminal/time.ts';

interface SendCommandOptions extends SystemOptions {
  readonly file?: string;
  readonly jobId?: string;
  readonly delay?: number;
  readonly at?: string;
  readonly lease?: number;
  readonly maxAttempts?: number;
  readonly maxCrashes?: number;
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly force?: boolean;
}

export function createCommand(context: CliContext): Command {
  const command = new Command('send')
    .description('send a job, or many from NDJSON')
    .argument('[type]', 'job type; optional with --file when every line names its own')
    .argument('[payload]', "payload as JSON (or plain text); '-' reads it from stdin")
    .option(
      '-f, --file <file>',
      "NDJSON: with TYPE one payload per line, else one whole message per line; '-' is stdin",
    )
    .option('--job-id <id>', 'your own id: sending it again does not run the job twice')
    .option('--delay <duration>', 'not before this time from now', durationOption)
    .option('--at <instant>', 'not before this instant (ISO 8601), or this time from now (2h)', futureOption)
    .option('--lease <duration>', 'lease length of this job', durationOption)
    .option('--max-attempts <n>', 'errors and crashes until it fails for good', numberOption(1, 25))
    .option('--max-crashes <n>', 'crashes until it is quarantined', numberOption(1, 25))
    .option('-w, --wait', 'wait until the job has ended, and print its result')
    .option('--timeout <duration>', 'longest wait (default: 5m)', durationOption)
    .option('--force', 'send it even if no worker of the local stack would run it, or its id was used')
    .action((type: string | undefined, payload: string | undefined, options: SendCommandOptions) =>
      onSystem(context, options, (system, output) => send(context, system, output, type, payload, options)),
    );
  return withExamples(
    withSystem(command),
    'leasehold send email \'{"to":"ada@example.com"}\'',
    'leasehold send report --job-id report-2026-03 --at 2026-04-01T06:00',
    'leasehold send report --wait --timeout 2m --json | jq .job.result',
    'cat payloads.ndjson | leasehold send email --file -',
  );
}

async function send(
  context: CliContext,
  system: System,
  output: Output,
  type: string | undefined,
  payload: string | undefined,
  options: SendCommandOptions,
) {
  const now = context.terminal.clock.now();
  const fields = fieldsOf(options, now);
  if (fields.notBefore !== undefined && fields.notBefore < now)
    output.note(`--at ${options.at} is ${formatAge(fields.notBefore, now)}, so it runs at once.`);
  if (options.timeout !== undefined && options.wait !== true) throw new CliError('--timeout needs --wait');
  if (options.file !== undefined) {
    if (payload !== undefined) throw new CliError('Give either a payload or --file, not both');
    if (options.jobId !== undefined)
      throw new CliError('--job-id names one job; put "jobId" in the lines of the file instead');
    if (options.wait === true) throw new CliError('--wait waits for one job; leave --file out');
    const lines = options.file === '-' ? context.terminal.input : readable(options.file);
    return sendLines(context.terminal, system, output, lines, { type, fields, force: options.force });
  }
  if (type === undefined)
    throw new CliError("Name the job's type: leasehold send TYPE [PAYLOAD]. For many jobs add --file FILE");
  const text = payload === '-' ? await readAll(context.terminal.input) : payload;
  const value = text === undefined ? null : payloadOf(text);
  const known = options.force ? undefined : await usedId(system, options.jobId);
  const sent = known ?? (await sendOne(context, system, type, value, fields, options.force));
  const { jobId } = sent;
  if (known !== undefined) output.note(known.message);
  if (options.wait !== true) {
    output.json(sent);
    output.line(
      `${known === undefined ? output.colors.green('sent') : paintStatus(known.status, output.colors)} ${jobId}`,
    );
    if (context.terminal.isScreen) output.note(`Follow it with: leasehold show ${jobId}`);
    return exitCodes.ok;
  }
  if (known === undefined) output.note(`sent ${jobId}; waiting for it to end`);
  const { interrupted } = context.terminal;
  const waiting = waitForEnd(system, jobId, { timeoutMs: options.timeout, signal: interrupted });
  const job = await waiting.catch((error: unknown) => {
    throw error instanceof WaitTimedOutError ? new CliError(error.message, exitCodes.refused) : error;
  });
  output.json({ ...sent, job: wholeJob(job) });
  output.line(`${paintStatus(job.status, output.colors)} ${jobId}`);
  if (job.status === 'done') output.line(JSON.stringify(job.result ?? null, null, 2));
  else output.note(job.lastError ?? `See 'leasehold show ${jobId}'`);
  return job.status === 'done' ? exitCodes.ok : exitCodes.refused;
}

/** Only the first message of an id makes a job. */
async function usedId(system: System, jobId: string | undefined) {
  const job = jobId === undefined ? undefined : await system.store.read(jobId);
  if (job === undefined) return undefined;
  const { type, status } = job;
  return { outcome: 'known', jobId: job.jobId, type, status, message: saysOf(job) };
}

function saysOf(job: Job): string {
  const { jobId, status } = job;
  const next = status === 'done' ? 'Choose another --job-id' : `'leasehold revive ${jobId}' runs it again`;
  return isFinished(job)
    ? `Job '${jobId}' is already ${status}; nothing will run. ${next}`
    : `Job '${jobId}' is already ${status}; a second message would change nothing, and none was sent`;
}

async function sendOne(
  { terminal: { clock } }: CliContext,
  system: System,
  type: string,
  payload: unknown,
  fields: ReturnType<typeof fieldsOf>,
  force: boolean | undefined,
) {
  const job = { type, payload: JSON.stringify(payload) };
  const [refusal] = force ? [] : await checkJobs(system.found, [job]);
  if (refusal) throw new CliError(`Not sent: ${refusal}. Add --force to send it anyway`);
  const { createProducer } = await import('../../../client/producer/index.ts');
  const producer = createProducer({ queue: system.queue(), settings: system.settings, clock });
  return { outcome: 'sent', ...(await producer.send(type, payload, fields)) };
}

function fieldsOf(options: SendCommandOptions, now: number) {
  if (options.delay !== undefined && options.at !== undefined)
    throw new CliError('Give either --delay or --at, not both');
  const notBefore = options.at === undefined ? undefined : parseInstant(options.at, now, 'ahead');
  return {
    jobId: options.jobId,
    delayMs: options.delay,
    notBefore,
    leaseMs: options.lease,
    maxAttempts: options.maxAttempts,
    maxCrashes: options.maxCrashes,
  };
}

/** Text that does not look like JSON becomes a string, as shell users expect. */
function payloadOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/^\s*[{["]/.test(text)) return text;
    throw new CliError(
      `Not sent: the payload looks like JSON but is not (${error instanceof Error ? error.message : error}). Check the shell quotes: '{"a":1}'`,
    );
  }
}

function readable(file: string): AsyncIterable<string | Uint8Array> {
  if (!existsSync(file)) throw new CliError(`There is no file '${file}'. Check the path, or use - for stdin`);
  return createReadStream(file);
}

async function readAll(input: AsyncIterable<string | Uint8Array>): Promise<string> {
  const given = (await text(Readable.from(input))).trim();
  if (given === '') throw new CliError('Not sent: stdin was empty; the payload is read from there');
  return given;
}
