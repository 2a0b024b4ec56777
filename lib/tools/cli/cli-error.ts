export const exitCodes = {
  ok: 0,
  /** Something was refused or failed, or a check found a problem. */
  refused: 1,
  /** A usage error, or the system is unreachable. */
  unusable: 2,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export class CliError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.unusable, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}
