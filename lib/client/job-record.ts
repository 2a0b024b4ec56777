import type { Job } from '../protocol/job.ts';
import type { JsonValue } from '../wire/message.ts';

type Told<J> = J extends Job ? Omit<J, 'payload' | 'leaseShard'> & { readonly payload: JsonValue } : never;

/** A job as its row tells it, with its payload read. `status` says which attributes there are. */
export type JobRecord = Told<Job>;

export function recordOf(job: Job): JobRecord {
  const { leaseShard: _, ...rest } = job;
  return { ...rest, payload: payloadIn(job.payload) } as JobRecord;
}

/** A text that is not JSON, as only a hand-edited row has it, is told as it is. */
function payloadIn(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
