import type { Chance, Clock } from '../../../protocol/ports.ts';

/** Everything that a command takes from the process it runs in, so that tests can run commands without one. */
export interface Terminal {
  /** Results, for the next program or the reader. */
  write(text: string): void;
  /** Takes the last lines off a screen. */
  erase(lines: number): void;
  /** Notes, questions and errors. */
  note(text: string): void;
  readonly input: AsyncIterable<string | Uint8Array>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  /** Someone is there to answer. */
  readonly isInteractive: boolean;
  /** Results go to a screen, which may be redrawn. */
  readonly isScreen: boolean;
  readonly hasColours: boolean;
  /** How wide a line may be; infinite where results go to no screen, so that a program gets them whole. */
  readonly columns: number;
  readonly rows: number;
  /** The same for notes. */
  readonly noteHasColours: boolean;
  readonly noteColumns: number;
  /** Undefined: the machine's own zone. */
  readonly timeZone?: string;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Fires on Ctrl-C. */
  readonly interrupted: AbortSignal;
  ask(question: string): Promise<boolean>;
}
