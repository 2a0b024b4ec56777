import type { Clock } from '../../../protocol/ports.ts';
import type { HandlerJob, JobDefinition, Schema } from '../../define-job.ts';
import type { JobData } from '../channel.ts';
import { refusedBySchema, type Thrown } from '../thrown.ts';
import { type Checked, checkSchema } from './check-schema.ts';

export type View =
  | { readonly ok: true; readonly job: HandlerJob }
  | { readonly ok: false; readonly error: Thrown };

/** What the handler is given. The row decides: its type and its payload, whatever the message said. */
export async function handlerJobOf(
  definition: JobDefinition,
  job: JobData,
  clock: Clock,
  checked?: { readonly value: unknown },
): Promise<View> {
  const payload: Checked =
    checked === undefined
      ? await checkText(definition.payload, job.payload ?? '', clock)
      : { ok: true, value: checked.value };
  if (!payload.ok) return { ok: false, error: refusedBySchema('payload', payload.reason) };
  const checkpoint: Checked =
    definition.checkpoint === undefined || job.checkpoint === undefined
      ? { ok: true, value: job.checkpoint === undefined ? undefined : JSON.parse(job.checkpoint) }
      : await checkText(definition.checkpoint, job.checkpoint, clock);
  if (!checkpoint.ok) return { ok: false, error: refusedBySchema('checkpoint', checkpoint.reason) };
  return { ok: true, job: viewFor(job, payload.value, checkpoint.value) };
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

const viewFor = (job: JobData, payload: unknown, checkpoint: unknown): HandlerJob => ({
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
