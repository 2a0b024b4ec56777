/** How a run ended, for scripts. */
export const exitCodes = {
  ok: 0,
  /** Something was refused or failed, or a check found a problem. */
  refused: 1,
  /** Usage error or system unreachable: nothing is known. */
  unusable: 2,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with a message that says what to do next. */
export class CliError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.unusable, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}
