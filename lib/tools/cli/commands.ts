import type { Command } from 'commander';
import type { CliContext } from './define-command.ts';

/** A command as the overall help lists it. Its code is loaded when it is called: Tab and help must not wait for all the others. */
export interface CommandEntry {
  readonly name: string;
  readonly alias?: string;
  /** In one line of a narrow terminal. */
  readonly says: string;
  readonly group: 'Jobs:' | 'Operators:' | 'System:' | 'Development:';
  load(): Promise<(context: CliContext) => Command>;
}

/** Every command, in the order in which the help lists them. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'send',
    says: 'send a job, or many from NDJSON',
    group: 'Jobs:',
    load: async () => (await import('./commands/send.ts')).sendCommand,
  },
  {
    name: 'ls',
    alias: 'list',
    says: 'list jobs by status, type, age or owner',
    group: 'Jobs:',
    load: async () => (await import('./commands/ls.ts')).lsCommand,
  },
  {
    name: 'show',
    says: 'show everything in a job’s row',
    group: 'Jobs:',
    load: async () => (await import('./commands/show.ts')).showCommand,
  },
  {
    name: 'explain',
    says: 'tell the whole life of a job, and what happens next',
    group: 'Jobs:',
    load: async () => (await import('./commands/explain.ts')).explainCommand,
  },
  {
    name: 'cancel',
    says: 'cancel pending jobs, tell workers to stop running ones',
    group: 'Operators:',
    load: async () => (await import('./commands/cancel.ts')).cancelCommand,
  },
  {
    name: 'revive',
    says: 'run failed or cancelled jobs again, with new budgets',
    group: 'Operators:',
    load: async () => (await import('./commands/revive.ts')).reviveCommand,
  },
  {
    name: 'redrive',
    says: 'revive many failed jobs, by type, error or time',
    group: 'Operators:',
    load: async () => (await import('./commands/redrive.ts')).redriveCommand,
  },
  {
    name: 'take-back',
    says: 'take running jobs from their workers, for the next',
    group: 'Operators:',
    load: async () => (await import('./commands/take-back.ts')).takeBackCommand,
  },
  {
    name: 'dlq',
    says: 'list the dead-letter queue, or send its messages again',
    group: 'Operators:',
    load: async () => (await import('./commands/dlq.ts')).dlqCommand,
  },
  {
    name: 'stats',
    says: 'count jobs by status, and show queue and reaper',
    group: 'System:',
    load: async () => (await import('./commands/stats.ts')).statsCommand,
  },
  {
    name: 'watch',
    says: 'show the same live, until Ctrl-C',
    group: 'System:',
    load: async () => (await import('./commands/watch.ts')).watchCommand,
  },
  {
    name: 'workers',
    says: 'list workers by the leases they hold, live or STALE',
    group: 'System:',
    load: async () => (await import('./commands/workers.ts')).workersCommand,
  },
  {
    name: 'schedules',
    says: 'list recurring jobs and their next ticks',
    group: 'System:',
    load: async () => (await import('./commands/schedules.ts')).schedulesCommand,
  },
  {
    name: 'doctor',
    says: 'check settings, clock, reaper, queue, rows; repair them',
    group: 'System:',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  },
  {
    name: 'reap',
    says: 'sweep once, now: reclaim what lapsed, hint what waits',
    group: 'System:',
    load: async () => (await import('./commands/reap.ts')).reapCommand,
  },
  {
    name: 'console',
    says: 'serve a live page of a system on this machine',
    group: 'System:',
    load: async () => (await import('./commands/console.ts')).consoleCommand,
  },
  {
    name: 'plan',
    says: 'estimate cost, capacity and recovery before deploying',
    group: 'Development:',
    load: async () => (await import('./commands/plan.ts')).planCommand,
  },
  {
    name: 'init',
    says: 'make a project: a job, its test, a CDK app, a Dockerfile',
    group: 'Development:',
    load: async () => (await import('./init/init.ts')).initCommand,
  },
  {
    name: 'dev',
    says: 'run the whole system on this machine',
    group: 'Development:',
    load: async () => (await import('./commands/dev.ts')).devCommand,
  },
  {
    name: 'env',
    says: 'print the variables of the running local system',
    group: 'Development:',
    load: async () => (await import('./commands/env.ts')).envCommand,
  },
  {
    name: 'work',
    says: 'run a worker process, for containers',
    group: 'Development:',
    load: async () => (await import('./commands/work.ts')).workCommand,
  },
  {
    name: 'completion',
    says: 'print a script for Tab completion in your shell',
    group: 'Development:',
    load: async () => (await import('./commands/completion.ts')).completionCommand,
  },
];
