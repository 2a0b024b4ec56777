import { type ErrorCause, LeaseholdError } from '../../../wire/leasehold-error.ts';

/** Why a local engine failed: it cannot run here, or it broke after its start. */
export type EngineErrorCode = 'ENGINE_UNAVAILABLE' | 'ENGINE_FAILED';

/** A local engine could not start; the message says what to install or change. */
export class EngineError extends LeaseholdError {
  static override readonly name: string = 'EngineError';
  declare readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: ErrorCause) {
    super(code, message, options);
  }
}
