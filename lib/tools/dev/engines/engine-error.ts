import { LeaseholdError } from '../../../wire/leasehold-error.ts';

/** What went wrong with a local engine: it can't run here, or it was started and broke. */
export type EngineErrorCode = 'ENGINE_UNAVAILABLE' | 'ENGINE_FAILED';

/** A local engine could not be started; the message says what to install or change. */
export class EngineError extends LeaseholdError {
  static override readonly name: string = 'EngineError';
  declare readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}
