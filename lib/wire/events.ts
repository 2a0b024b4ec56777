import type { eventFields, OptionalField } from './event-schemas.ts';
import { isJobType } from './message.ts';

export const EVENT_SOURCE = 'leasehold';

type Value<Field> = Field extends { readonly enum: readonly (infer Each)[] }
  ? Each
  : Field extends { readonly type: 'integer' }
    ? number
    : string;

export type EventDetails = {
  [Name in keyof typeof eventFields]: {
    readonly [Field in Exclude<keyof (typeof eventFields)[Name], OptionalField>]: Value<
      (typeof eventFields)[Name][Field]
    >;
  } & { readonly [Field in Extract<keyof (typeof eventFields)[Name], OptionalField>]?: string };
};

type JobEventDetail = EventDetails['JobStarted'];

export type EventName = keyof EventDetails;

export const ALL_TYPES = '*';

/** Empty, comma-separated types, or `*`. */
export const isTypeList = (value: unknown): value is string =>
  typeof value === 'string' && (value === '' || value === ALL_TYPES || value.split(',').every(isJobType));

export const namesType = (list: string, type: string): boolean =>
  list !== '' && (list === ALL_TYPES || list.split(',').includes(type));

export type LeaseholdEvent = {
  [name in EventName]: { readonly name: name; readonly detail: Omit<EventDetails[name], 'service'> };
}[EventName];

export const eventDetailOf = (job: Omit<JobEventDetail, 'service' | 'at'>) => {
  const { jobId, type, attempt, errors, crashes, lapses, releases, leaseOwner } = job;
  return { jobId, type, attempt, errors, crashes, lapses, releases, leaseOwner };
};
