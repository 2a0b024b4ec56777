import { LeaseholdError } from '../../wire/leasehold-error.ts';

/** A jobs module that cannot be used: it is missing, throws, exports no registry, or takes too long to load. */
export class JobsModuleError extends LeaseholdError {
  static override readonly name: string = 'JobsModuleError';
  /** The file as it was asked for. */
  readonly file: string;

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super('JOBS_MODULE', `jobs module ${file}: ${problem}`, options);
    this.file = file;
  }
}
