import { LeaseholdError } from '../jobs/errors.ts';
import type { Schema } from './define-job.ts';

/** A schema refused a value. Its message may repeat parts of the value, so it is kept in the row and never logged. */
export class SchemaRefusedError extends LeaseholdError {
  constructor(what: string, reason: string) {
    super('SCHEMA_REFUSED', `the ${what} is refused by the schema of its type: ${reason}`);
  }
}

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string };

/** How many of a schema's complaints are told. */
const TOLD_ISSUES = 5;

/** Asks the schema; a schema that throws has refused. */
export async function checkSchema(schema: Schema, value: unknown): Promise<Checked> {
  try {
    const result = await schema['~standard'].validate(value);
    if (result.issues === undefined) return { ok: true, value: result.value };
    const told = result.issues.slice(0, TOLD_ISSUES).map(({ message, path }) => {
      const place = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
      return place === '' ? message : `${place}: ${message}`;
    });
    return { ok: false, reason: told.join('; ') };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
