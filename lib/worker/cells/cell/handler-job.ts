import { checkText, SchemaRefusedError } from '../../check-schema.ts';
import type { HandlerJob, JobDefinition, Schema } from '../../define-job.ts';
import type { JobData } from '../channel.ts';

/** The row decides on type and payload, not the message. */
export async function handlerJobOf(definition: JobDefinition, job: JobData): Promise<HandlerJob> {
  const { jobId, type, attempt, errors, crashes, releases, createdAt } = job;
  const payload = await accepted('payload', definition.payload, job.payload);
  const checkpoint =
    job.checkpoint === undefined
      ? undefined
      : await accepted('checkpoint', definition.checkpoint, job.checkpoint);
  return {
    ...{ jobId, type, payload, attempt, errors, crashes, releases, createdAt, checkpoint },
    idempotencyKey: jobId,
    fencingToken: attempt,
  };
}

async function accepted(what: string, schema: Schema | undefined, text: string): Promise<unknown> {
  const checked = await checkText(schema, text);
  if (checked.ok) return checked.value;
  throw new SchemaRefusedError(what, checked.reason);
}
