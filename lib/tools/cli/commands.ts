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
    { name: 'show', says: 'show everything in a job’s row', load: () => import('./commands/show.ts') },
    {
      name: 'explain',
      says: 'tell the whole life of a job, and what happens next',
      load: () => import('./commands/explain.ts'),
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
      says: 'run failed or cancelled jobs again, with new budgets',
      load: () => import('./commands/revive.ts'),
    },
    {
      name: 'redrive',
      says: 'revive many failed jobs, by type, error or time',
      load: () => import('./commands/redrive.ts'),
    },
    {
      name: 'take-back',
      says: 'take running jobs from their workers, for the next',
      load: () => import('./commands/take-back.ts'),
    },
    {
      name: 'dlq',
      says: 'list the dead-letter queue, or send its messages again',
      load: () => import('./commands/dlq.ts'),
    },
  ]),
  ...inGroup('System:', [
    {
      name: 'stats',
      says: 'count jobs by status, and show queue and reaper',
      load: () => import('./commands/stats.ts'),
    },
    { name: 'watch', says: 'show the same live, until Ctrl-C', load: () => import('./commands/watch.ts') },
    {
      name: 'workers',
      says: 'list workers by the leases they hold, live or STALE',
      load: () => import('./commands/workers.ts'),
    },
    {
      name: 'schedules',
      says: 'list recurring jobs and their next ticks',
      load: () => import('./commands/schedules.ts'),
    },
    {
      name: 'doctor',
      says: 'check settings, clock, reaper, queue, rows; repair them',
      load: () => import('./doctor/doctor.ts'),
    },
    {
      name: 'reap',
      says: 'sweep once, now: reclaim what lapsed, hint what waits',
      load: () => import('./commands/reap.ts'),
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
      says: 'make a project: a job, its test, a CDK app, a Dockerfile',
      load: () => import('./init/init.ts'),
    },
    { name: 'dev', says: 'run the whole system on this machine', load: () => import('./commands/dev.ts') },
    {
      name: 'env',
      says: 'print the variables of the running local system',
      load: () => import('./commands/env.ts'),
    },
    { name: 'work', says: 'run a worker process, for containers', load: () => import('./commands/work.ts') },
    {
      name: 'completion',
      says: 'print a script for Tab completion in your shell',
      load: () => import('./commands/completion.ts'),
    },
  ]),
];
