import type { Clock, Random } from '../../../protocol/ports.ts';

/** Everything that a command takes from its process, so that tests can run commands without one. */
export interface Terminal {
  write(text: string): void;
  erase(lines: number): void;
  note(text: string): void;
  readonly input: AsyncIterable<string | Uint8Array>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  readonly isInteractive: boolean;
  readonly isScreen: boolean;
  readonly hasColors: boolean;
  /** Infinite without a screen, so that programs get whole lines. */
  readonly columns: number;
  readonly rows: number;
  readonly noteHasColors: boolean;
  readonly noteColumns: number;
  /** Undefined means the machine's zone. */
  readonly timeZone?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly interrupted: AbortSignal;
  ask(question: string): Promise<boolean>;
  /** From now on a closed stdout does not end the process; returns whether output was lost so far. */
  outliveReader(): () => boolean;
}
