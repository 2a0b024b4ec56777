/** What went wrong with a local engine: it can't run here, or it was started and broke. */
export type EngineErrorCode = 'EngineUnavailable' | 'EngineFailed';

/** Thrown when a local engine can't be started; the message says what to install or change. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
