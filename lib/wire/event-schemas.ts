interface FieldSchema {
  readonly type: 'string' | 'integer';
  readonly enum?: readonly string[];
}

/** A JSON Schema (2020-12) of one event's detail; later versions may add fields. */
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
  lapses: number,
  releases: number,
  leaseOwner: text,
  at: number,
} as const;

export const eventFields = {
  /** Only for types in `startedEvents`. */
  JobStarted: ofJob,
  /** Only for types in `doneEvents`. */
  JobDone: { ...ofJob, durationMs: number },
  /** An operator ended the job, before or while it ran. */
  JobCancelled: ofJob,
  /** A lease lapsed, and the job goes to the next worker. */
  JobReclaimed: { ...ofJob, reclaimDelayMs: number },
  /** A handler threw and the job will run again. */
  JobRetried: { ...ofJob, lastError: text, notBefore: number },
  JobFailed: { ...ofJob, lastError: text },
  /** The job kept crashing or losing its host; comes with a JobFailed. */
  JobQuarantined: { ...ofJob, lastError: text },
  ReaperLeadershipChanged: {
    service: text,
    leader: text,
    change: { ...text, enum: ['acquired', 'lost', 'released'] },
    term: number,
    at: number,
  },
} as const satisfies Record<string, Record<string, FieldSchema>>;

export type OptionalField = 'leaseOwner';
const OPTIONAL: readonly string[] = ['leaseOwner' satisfies OptionalField];

/** The JSON Schema of each event's detail. */
export const eventSchemas = Object.fromEntries(
  Object.entries(eventFields).map(([title, properties]): [string, EventSchema] => [
    title,
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title,
      type: 'object',
      required: Object.keys(properties).filter((field) => !OPTIONAL.includes(field)),
      properties,
    },
  ]),
) as Readonly<Record<keyof typeof eventFields, EventSchema>>;
