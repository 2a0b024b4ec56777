import { type ErrorCause, LeaseholdError } from '../wire/leasehold-error.ts';

/** A jobs module cannot be used: it is missing, throws, exports no registry or loads too slowly. */
export class JobsModuleError extends LeaseholdError {
  static override readonly name: string = 'JobsModuleError';
  readonly file: string;
  readonly problem: string;

  constructor(file: string, problem: string, options?: ErrorCause) {
    super('JOBS_MODULE', `jobs module ${file}: ${problem}`, options);
    this.file = file;
    this.problem = problem;
    // The cause has the useful stack; this one names only files of this package.
    this.stack = `${this.name}: ${this.message}`;
  }
}
