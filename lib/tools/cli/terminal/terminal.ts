import type { Clock, Random } from '../../../protocol/ports.ts';

/** Everything that a command takes from its process, so that tests can run commands without one. */
export interface Terminal {
  /** Results. */
  write(text: string): void;
  erase(lines: number): void;
  /** Notes, questions and errors. */
  note(text: string): void;
  readonly input: AsyncIterable<string | Uint8Array>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  /** Whether a user can answer questions. */
  readonly isInteractive: boolean;
  /** Whether results go to a screen, which can be redrawn. */
  readonly isScreen: boolean;
  readonly hasColours: boolean;
  /** Infinite without a screen, so that programs get whole lines. */
  readonly columns: number;
  readonly rows: number;
  /** The same for notes. */
  readonly noteHasColours: boolean;
  readonly noteColumns: number;
  /** Undefined means the machine's zone. */
  readonly timeZone?: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Fires on Ctrl-C. */
  readonly interrupted: AbortSignal;
  ask(question: string): Promise<boolean>;
  /** From now on a closed stdout does not end the process; returns whether output was lost so far. */
  outliveReader(): () => boolean;
}
