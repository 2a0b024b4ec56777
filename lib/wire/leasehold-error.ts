/** Marks our errors, also those that another copy of this package made. */
const MARK: unique symbol = Symbol.for('leasehold.error') as never;

/**
 * Something is broken. (Contention is not an error but a returned value.) Every message says what happened, the value, what
 * is allowed and the next step; `code` is stable for scripts.
 *
 * An application can load this package twice: as ES modules and as CommonJS, or bundled and not. `instanceof` sees through
 * that for this class and for those that declare a static `code`, so that no copy retries what another calls final.
 */
export class LeaseholdError extends Error {
  /** Said, because a bundler may give the class another one. */
  static override readonly name: string = 'LeaseholdError';
  static readonly code: string | undefined = undefined;
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }

  get [MARK](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: the class on the right of `instanceof`, often a subclass
    return isInstance(this, value);
  }
}

function isInstance(asked: typeof LeaseholdError, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(asked, value)) return true;
  if (!Object.hasOwn(asked, 'code') || !isMarked(value)) return false;
  return asked.code === undefined || asked.code === value.code;
}

const isMarked = (value: unknown): value is LeaseholdError =>
  typeof value === 'object' && value !== null && (value as Partial<LeaseholdError>)[MARK] === true;
