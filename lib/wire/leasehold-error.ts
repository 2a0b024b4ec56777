/**
 * Something is broken. (Contention is not an error but a returned value.) Every message says what happened, the value, what
 * is allowed and the next step; `code` is stable for scripts.
 */
export class LeaseholdError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}
