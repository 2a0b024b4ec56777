import type { Clock } from '../../../protocol/ports.ts';
import { waitAtMost } from '../../../protocol/wait-at-most.ts';
import { LeaseholdError } from '../../../wire/leasehold-error.ts';
import type { Schema } from '../../define-job.ts';

/** A schema refused a value. Its message may repeat parts of the value, so it is kept in the row and never logged. */
export class SchemaRefusedError extends LeaseholdError {
  static override readonly name: string = 'SchemaRefusedError';
  constructor(what: string, reason: string) {
    super('SCHEMA_REFUSED', `the ${what} is refused by the schema of its type: ${reason}`);
  }
}

/** A schema may wait for something else, but not for ever: nothing else is received meanwhile. @internal */
export const SCHEMA_PATIENCE_MS = 10_000;

/** A schema gave no answer. Nothing is known of the value, so it may be tried again. */
export class SchemaSilentError extends LeaseholdError {
  static override readonly name: string = 'SchemaSilentError';
  constructor() {
    super(
      'SCHEMA_SILENT',
      `the schema of its type gave no answer within ${SCHEMA_PATIENCE_MS / 1000} s; let it check without waiting for other services`,
    );
  }
}

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string };

/** How many of a schema's complaints are told. */
const TOLD_ISSUES = 5;

/** Asks the schema; a schema that throws has refused. With a clock, one that is silent for too long makes this throw. */
export async function checkSchema(schema: Schema, value: unknown, clock?: Clock): Promise<Checked> {
  try {
    const answer = schema['~standard'].validate(value);
    const result =
      answer instanceof Promise && clock !== undefined
        ? await waitAtMost(SCHEMA_PATIENCE_MS, answer, clock)
        : await answer;
    if (result === undefined) throw new SchemaSilentError();
    if (result.issues === undefined) return { ok: true, value: result.value };
    const told = result.issues.slice(0, TOLD_ISSUES).map(({ message, path }) => {
      const place = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
      return place === '' ? message : `${place}: ${message}`;
    });
    return { ok: false, reason: told.join('; ') };
  } catch (error) {
    if (error instanceof SchemaSilentError) throw error;
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
