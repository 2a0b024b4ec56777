import type { RunningJob } from '../../protocol/job.ts';
import type { Clock } from '../../protocol/ports.ts';
import type { HandlerJob, JobDefinition, Schema } from '../define-job.ts';
import { type Registry, UnknownTypeError } from '../registry.ts';
import { type Checked, checkSchema, SchemaRefusedError } from './check-schema.ts';

/** A payload as its schema returned it, and the text it was read from. */
export interface CheckedPayload {
  readonly text: string;
  readonly value: unknown;
}

export type View =
  | { readonly ok: true; readonly definition: JobDefinition; readonly job: HandlerJob }
  | { readonly ok: false; readonly error: Error };

/** What the handler is given. The row decides: its type and its payload, whatever the message said. */
export async function handlerJobOf(
  { registry, clock }: { readonly registry: Registry; readonly clock: Clock },
  job: RunningJob,
  checked?: CheckedPayload,
): Promise<View> {
  const definition = registry.find(job.type);
  if (definition === undefined) {
    const known = registry.definitions.map(({ type }) => type);
    return { ok: false, error: new UnknownTypeError(job.type, known) };
  }
  const payload: Checked =
    checked?.text === job.payload
      ? { ok: true, value: checked.value }
      : await checkText(definition.payload, job.payload, clock);
  if (!payload.ok) return { ok: false, error: new SchemaRefusedError('payload', payload.reason) };
  const checkpoint: Checked =
    definition.checkpoint === undefined || job.checkpoint === undefined
      ? { ok: true, value: job.checkpoint }
      : await checkSchema(definition.checkpoint, job.checkpoint, clock);
  if (!checkpoint.ok) return { ok: false, error: new SchemaRefusedError('checkpoint', checkpoint.reason) };
  return { ok: true, definition, job: viewFor(job, payload.value, checkpoint.value) };
}

/** Checks a value that is still JSON text. */
export async function checkText(schema: Schema, text: string, clock?: Clock): Promise<Checked> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: 'it is not JSON' };
  }
  return checkSchema(schema, value, clock);
}

const viewFor = (job: RunningJob, payload: unknown, checkpoint: unknown): HandlerJob => ({
  jobId: job.jobId,
  type: job.type,
  payload,
  attempt: job.attempt,
  errors: job.errors,
  crashes: job.crashes,
  releases: job.releases,
  createdAt: job.createdAt,
  checkpoint,
  idempotencyKey: job.jobId,
  fencingToken: job.attempt,
});
