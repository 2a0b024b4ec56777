import type { Command } from 'commander';
import type { CliContext } from './define-command.ts';

type Make = (context: CliContext) => Command;

/** The command's code loads on demand, so that Tab and help stay fast. */
export interface CommandEntry {
  readonly name: string;
  readonly alias?: string;
  /** Fits one line of a narrow terminal. */
  readonly says: string;
  readonly group: string;
  load(): Promise<{ readonly createCommand: Make }>;
}

const inGroup = (group: string, entries: readonly Omit<CommandEntry, 'group'>[]): CommandEntry[] =>
  entries.map((entry) => ({ ...entry, group }));

/** In the order of the help. */
export const commands: readonly CommandEntry[] = [
  ...inGroup('Jobs:', [
    { name: 'send', says: 'send a job, or many from NDJSON', load: () => import('./commands/send.ts') },
    {
      name: 'ls',
      alias: 'list',
      says: 'list jobs by status, type, age or owner',
      load: () => import('./commands/ls.ts'),
    },
    {
      name: 'show',
      says: 'show the whole life of a job, and what happens next',
      load: () => import('./commands/show.ts'),
    },
  ]),
  ...inGroup('Operators:', [
    {
      name: 'cancel',
      says: 'cancel pending jobs, tell workers to stop running ones',
      load: () => import('./commands/cancel.ts'),
    },
    {
      name: 'revive',
      alias: 'retry',
      says: 'run failed jobs again: by id, type, error or time',
      load: () => import('./commands/revive.ts'),
    },
    {
      name: 'take-back',
      says: 'take running jobs from their workers, for the next',
      load: () => import('./commands/take-back.ts'),
    },
    {
      name: 'pause',
      says: 'start no more jobs of a type; running ones go on',
      load: () => import('./commands/pause.ts'),
    },
    {
      name: 'resume',
      says: 'let the jobs of a paused type run',
      load: () => import('./commands/resume.ts'),
    },
    {
      name: 'limit',
      says: 'change how many jobs of a type run at once',
      load: () => import('./commands/limit.ts'),
    },
  ]),
  ...inGroup('System:', [
    {
      name: 'stats',
      says: 'count jobs, list workers, show queue and reaper',
      load: () => import('./commands/stats.ts'),
    },
    {
      name: 'schedules',
      says: 'list recurring jobs and their next ticks',
      load: () => import('./commands/schedules.ts'),
    },
    {
      name: 'doctor',
      says: 'say whether it is healthy, check it, repair rows',
      load: () => import('./doctor/doctor.ts'),
    },
    {
      name: 'console',
      says: 'serve a live page of a system on this machine',
      load: () => import('./commands/console.ts'),
    },
  ]),
  ...inGroup('Development:', [
    {
      name: 'plan',
      says: 'estimate cost, capacity and recovery before deploying',
      load: () => import('./commands/plan.ts'),
    },
    {
      name: 'init',
      says: 'make a project: a job, its test, a CDK app',
      load: () => import('./init/init.ts'),
    },
    { name: 'dev', says: 'run the whole system on this machine', load: () => import('./commands/dev.ts') },
    { name: 'work', says: 'run a worker process, for containers', load: () => import('./commands/work.ts') },
    {
      name: 'completion',
      says: 'print a script for Tab completion in your shell',
      load: () => import('./commands/completion.ts'),
    },
  ]),
];
