import type { Command } from 'commander';
import type { CliContext } from './define-command.ts';

type Make = (context: CliContext) => Command;

/** The command's code loads on demand, so that Tab and help stay fast. */
export interface CommandEntry {
  readonly name: string;
  readonly alias?: string;
  /** Fits one line of a narrow terminal. */
  readonly summary: string;
  readonly group: string;
  load(): Promise<{ readonly createCommand: Make }>;
}

const inGroup = (group: string, entries: readonly Omit<CommandEntry, 'group'>[]): CommandEntry[] =>
  entries.map((entry) => ({ ...entry, group }));

export const commands: readonly CommandEntry[] = [
  ...inGroup('Jobs:', [
    { name: 'send', summary: 'send a job, or many from NDJSON', load: () => import('./commands/send.ts') },
    {
      name: 'ls',
      alias: 'list',
      summary: 'list jobs by status, type, age or owner',
      load: () => import('./commands/ls.ts'),
    },
    {
      name: 'show',
      summary: 'show the whole life of a job, and what happens next',
      load: () => import('./commands/show.ts'),
    },
  ]),
  ...inGroup('Operators:', [
    {
      name: 'cancel',
      summary: 'cancel pending jobs, ask workers to stop running ones',
      load: () => import('./commands/cancel.ts'),
    },
    {
      name: 'revive',
      alias: 'retry',
      summary: 'run failed jobs again: by id, type, error or time',
      load: () => import('./commands/revive.ts'),
    },
    {
      name: 'take-back',
      summary: 'take running jobs back from their workers',
      load: () => import('./commands/take-back.ts'),
    },
    {
      name: 'pause',
      summary: 'start no more jobs of a type; running ones continue',
      load: () => import('./commands/pause.ts'),
    },
    {
      name: 'resume',
      summary: 'let the jobs of a paused type run',
      load: () => import('./commands/resume.ts'),
    },
    {
      name: 'limit',
      summary: 'change how many jobs of a type run at once',
      load: () => import('./commands/limit.ts'),
    },
  ]),
  ...inGroup('System:', [
    {
      name: 'stats',
      summary: 'count jobs, list workers, show queue and reaper',
      load: () => import('./commands/stats.ts'),
    },
    {
      name: 'schedules',
      summary: 'list recurring jobs and their next ticks',
      load: () => import('./commands/schedules.ts'),
    },
    {
      name: 'doctor',
      summary: 'report its health, check it, repair rows',
      load: () => import('./doctor/doctor.ts'),
    },
    {
      name: 'console',
      summary: 'serve a live page of a system on this machine',
      load: () => import('./commands/console.ts'),
    },
  ]),
  ...inGroup('Development:', [
    {
      name: 'plan',
      summary: 'estimate cost, capacity and recovery before deploying',
      load: () => import('./commands/plan.ts'),
    },
    {
      name: 'init',
      summary: 'make a project: a job, its test, a CDK app',
      load: () => import('./init/init.ts'),
    },
    { name: 'dev', summary: 'run the whole system on this machine', load: () => import('./commands/dev.ts') },
    {
      name: 'work',
      summary: 'run a worker process, for containers',
      load: () => import('./commands/work.ts'),
    },
  ]),
];
