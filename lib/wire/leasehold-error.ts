/** Also marks errors made by another copy of this package. */
const MARK: unique symbol = Symbol.for('leasehold.error') as never;

/** `ErrorOptions`, which TypeScript libs before ES2022 lack. */
export interface ErrorCause {
  readonly cause?: unknown;
}

/** The base of all errors; `code` is stable, and `instanceof` also matches errors of another copy of the package. */
export class LeaseholdError extends Error {
  /** Explicit, because a bundler may rename the class. */
  static override readonly name: string = 'LeaseholdError';
  static readonly code: string | undefined = undefined;
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorCause) {
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
