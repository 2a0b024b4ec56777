/** Each place is an entry of one row, so more would make admissions expensive. */
export const MAX_LIMIT = 100;

/** Job ids cannot contain `:`, so a producer can never use these keys. */
const LIMIT_PREFIX = 'limit:';
const PAUSE_PREFIX = 'pause:';
export const CONTROL_KEY = 'control:types';

/** Partitions for the jobs of one paused type. */
const PAUSE_PARTS = 8;

/** At most n at once of the type, or of each key of the type. */
export type Limit = number | { readonly perKey: number };

export const isLimitNumber = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_LIMIT;

export const limitGroup = (type: string, key?: string): string =>
  `${LIMIT_PREFIX}${type}${key === undefined ? '' : `:${key}`}`;

export const pauseGroups = (type: string): readonly string[] =>
  Array.from({ length: PAUSE_PARTS }, (_, part) => `${PAUSE_PREFIX}${type}:${part}`);

export const isPauseGroup = (group: string): boolean => group.startsWith(PAUSE_PREFIX);

export const partsOfGroup = (group: string): { readonly type: string; readonly key?: string } => {
  const [, type = '', key] = group.split(':');
  return isPauseGroup(group) || key === undefined ? { type } : { type, key };
};

/** Rows of limits and of the operator's controls, which are not jobs. @internal */
export const isLimitRow = (id: string): boolean => id.startsWith(LIMIT_PREFIX) || id === CONTROL_KEY;
