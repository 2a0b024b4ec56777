import { LeaseholdError } from '../wire/leasehold-error.ts';
import type { Schema } from './define-job.ts';

// Handlers may replace it.
const { parse } = JSON;

/** The message may quote the value, so only the row keeps it. */
export class SchemaRefusedError extends LeaseholdError {
  static override readonly name: string = 'SchemaRefusedError';
  constructor(what: string, reason: string) {
    super('SCHEMA_REFUSED', `the ${what} is refused by the schema of its type: ${reason}`);
  }
}

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string };

const SHOWN_ISSUES = 5;

export async function checkText(schema: Schema | undefined, text: string): Promise<Checked> {
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    return { ok: false, reason: 'it is not JSON' };
  }
  if (schema === undefined) return { ok: true, value };
  try {
    const result = await schema['~standard'].validate(value);
    if (result.issues === undefined) return { ok: true, value: result.value };
    const shown = result.issues.slice(0, SHOWN_ISSUES).map(({ message, path }) => {
      const place = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
      return place === '' ? message : `${place}: ${message}`;
    });
    return { ok: false, reason: shown.join('; ') };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
