import type { Command } from 'commander';
import type { CliContext } from '../define-command.ts';
import { cancelCommand } from './cancel.ts';
import { consoleCommand } from './console.ts';
import { devCommand } from './dev.ts';
import { dlqCommand } from './dlq.ts';
import { doctorCommand } from './doctor.ts';
import { envCommand } from './env.ts';
import { explainCommand } from './explain.ts';
import { initCommand } from './init.ts';
import { lsCommand } from './ls.ts';
import { planCommand } from './plan.ts';
import { reapCommand } from './reap.ts';
import { redriveCommand } from './redrive.ts';
import { reviveCommand } from './revive.ts';
import { schedulesCommand } from './schedules.ts';
import { sendCommand } from './send.ts';
import { showCommand } from './show.ts';
import { statsCommand } from './stats.ts';
import { takeBackCommand } from './take-back.ts';
import { watchCommand } from './watch.ts';
import { workCommand } from './work.ts';
import { workersCommand } from './workers.ts';

/** Every command, in the order in which the help lists them. */
export const commands: readonly ((context: CliContext) => Command)[] = [
  sendCommand,
  lsCommand,
  showCommand,
  explainCommand,
  watchCommand,
  workersCommand,
  statsCommand,
  schedulesCommand,
  reviveCommand,
  cancelCommand,
  takeBackCommand,
  reapCommand,
  redriveCommand,
  dlqCommand,
  doctorCommand,
  planCommand,
  consoleCommand,
  initCommand,
  devCommand,
  envCommand,
  workCommand,
];
