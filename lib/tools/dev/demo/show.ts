import pc from 'picocolors';
import type { JobTypeSample } from '../../bundle/read-jobs-module.ts';
import { printable } from '../../inspect/printable.ts';
import { commandLine, workLine } from '../command-line.ts';
import type { DevOptions } from '../dev.ts';
import type { AwsOfHandlers } from '../local-environment.ts';
import type { LocalStack } from '../stack.ts';
import type { Report } from './first-minute.ts';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const MARK = '·';

export function createPrinter(output: NodeJS.WriteStream): (line: string) => void {
  const started = performance.now();
  return (line) => {
    const at = pc.dim(seconds(performance.now() - started).padStart(7));
    output.write(`${at}  ${printable(line, pc.isColorSupported)}\n`);
  };
}

const SEEN_AWS: Readonly<Record<AwsOfHandlers, string>> = {
  local: 'their AWS is this local system (--aws mine: your own account)',
  mine: 'their AWS is your own account (--aws local: this local system)',
};

export function introduction(
  stack: LocalStack,
  consoleUrl: string,
  {
    types,
    jobs,
    pools = {},
    workers,
    aws = 'local',
    envFile = '.env',
  }: Pick<DevOptions, 'jobs' | 'pools' | 'workers' | 'aws' | 'envFile'> & {
    readonly types: readonly JobTypeSample[];
  },
): string {
  const { endpoints } = stack;
  const engine =
    endpoints.engine === 'given'
      ? endpoints.dynamodb
      : `${endpoints.engine} at ${endpoints.dynamodb.replace('http://', '')}`;
  return [
    '',
    `  ${pc.bold('Console')}   ${pc.cyan(consoleUrl)}`,
    `  ${pc.bold('Queue')}     ${stack.queueUrl}`,
    `  ${pc.bold('Table')}     ${stack.tableName}, ${engine}`,
    ...(endpoints.boundToLoopback
      ? []
      : [
          pc.yellow(
            '            DynamoDB Local cannot be bound to loopback: other machines on your network can reach it.',
          ),
        ]),
    ...(jobs === undefined || workers === 0
      ? []
      : [`  ${pc.bold('Handlers')}  see this shell's environment and ${envFile}; ${SEEN_AWS[aws]}`]),
    '',
    ...(types.length === 0
      ? []
      : [`  ${pc.bold('Types')}     ${types.map(({ type }) => type).join(', ')}`, '']),
    ...Object.entries(pools).map(
      ([name, { compute, types: own }]) =>
        `  ${pc.bold('Pool')}      ${name}, as on ${compute}: ${own.join(', ')}`,
    ),
    ...(Object.keys(pools).length === 0 ? [] : ['']),
    ...(Object.keys(stack.schedules()).length === 0
      ? []
      : [`  ${pc.bold('Schedules')} ${Object.keys(stack.schedules()).join(', ')}`, '']),
    ...(types.length === 0
      ? []
      : [
          '  Send a job from another terminal:',
          '',
          ...types
            .slice(0, 3)
            .map(({ type, sample }) => `  ${commandLine} send ${type} '${JSON.stringify(sample)}'`),
          '',
        ]),
    ...(workers === 0
      ? ['  No worker runs here. Run yours in another terminal:', '', `  ${workLine}`, '']
      : []),
    `  Other processes find this system by the variables that ${pc.bold(`${commandLine} dev --env`)} prints.`,
    '',
  ].join('\n');
}

/** `commandAt` is when the user entered the command. */
export function summary(report: Report, commandAt: number): string {
  const ok = (isSo: boolean) => (isSo ? pc.green('✓') : pc.red('✗'));
  const done = report.jobs.filter(({ ends }) => ends === 'done');
  const finished = done.filter(({ isAsExpected }) => isAsExpected).length;
  const { kill, quarantine, firstDoneAt } = report;
  const lines = [
    `${ok(finished === done.length)} ${finished} of ${done.length} jobs done${
      firstDoneAt === undefined ? '' : `, the first ${seconds(firstDoneAt - commandAt)} after the command`
    }`,
    kill === undefined
      ? `${ok(false)} the job whose worker was killed did not come back`
      : `${ok(true)} worker ${kill.pid} killed ${MARK} job reclaimed ${seconds(kill.reclaimedAt - kill.at)} later ${MARK} resumed at step ${kill.resumedAtStep} ${MARK} done after ${seconds(kill.doneAt - kill.at)}`,
    quarantine === undefined
      ? `${ok(false)} the poison job was not quarantined`
      : `${ok(true)} 1 poison job quarantined after it had killed ${quarantine.crashes} workers`,
    ...report.jobs
      .filter(({ isAsExpected }) => !isAsExpected)
      .map(({ jobId, ends, job }) => `  ${jobId} should be ${ends} and is ${job?.status ?? 'without a row'}`),
  ];
  return ['', ...lines.map((line) => `  ${line}`), ''].join('\n');
}
