/** What scripts can tell a run by. */
export const exitCodes = {
  ok: 0,
  /** Asked and answered, but something was refused or failed, or a check found a problem. */
  refused: 1,
  /** Used wrongly, or the system could not be reached: nothing is known. */
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
