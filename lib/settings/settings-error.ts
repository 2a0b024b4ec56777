import { LeaseholdError } from '../wire/leasehold-error.ts';

/** A setting is unknown, out of range, or in conflict with another one. */
export class SettingsError extends LeaseholdError {
  static override readonly name: string = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super('SETTINGS', problems.join('\n'));
    this.problems = problems;
  }
}
