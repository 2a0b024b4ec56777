import type { EventDetails, EventName } from './events.ts';

/** What the schemas below need of JSON Schema. */
interface FieldSchema {
  readonly type: 'string' | 'integer';
  readonly enum?: readonly string[];
}

/** A JSON Schema (2020-12) of one event's detail. More fields may come, so they are not refused. */
export interface EventSchema {
  readonly $schema: string;
  readonly title: string;
  readonly type: 'object';
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, FieldSchema>>;
}

const text = { type: 'string' } as const;
const number = { type: 'integer' } as const;

const ofJob = {
  service: text,
  jobId: text,
  type: text,
  attempt: number,
  errors: number,
  crashes: number,
  releases: number,
  leaseOwner: text,
  at: number,
} as const;

const details = {
  JobStarted: ofJob,
  JobDone: { ...ofJob, durationMs: number },
  JobCancelled: ofJob,
  JobReclaimed: { ...ofJob, reclaimDelayMs: number },
  JobRetried: { ...ofJob, lastError: text, notBefore: number },
  JobFailed: { ...ofJob, lastError: text },
  JobQuarantined: { ...ofJob, lastError: text },
  ReaperLeadershipChanged: {
    service: text,
    leader: text,
    change: { ...text, enum: ['acquired', 'lost', 'released'] },
    epoch: number,
    at: number,
  },
  ReaperBreakerOpened: { service: text, lapsed: number, live: number, at: number },
} as const satisfies { [Name in EventName]: Record<keyof Required<EventDetails[Name]>, FieldSchema> };

/** The fields that an event may leave out. */
const OPTIONAL: readonly string[] = ['leaseOwner'];

/** The JSON Schema of each event's detail, for those who generate or check code by it. */
export const eventSchemas = Object.fromEntries(
  Object.entries(details).map(([title, properties]): [string, EventSchema] => [
    title,
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title,
      type: 'object',
      required: Object.keys(properties).filter((field) => !OPTIONAL.includes(field)),
      properties,
    },
  ]),
) as Readonly<Record<EventName, EventSchema>>;
