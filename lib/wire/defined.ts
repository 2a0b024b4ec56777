/** The same object, where a key whose value may be undefined is a key that may be absent. */
type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * A copy without the keys whose value is undefined. Needed only where a key's presence counts: rows, environments, and
 * objects spread over defaults. Everywhere else undefined is passed on as it is.
 */
export function defined<T extends object>(value: T): Defined<T> {
  // By a plain loop: a sweep makes several for each job that it reclaims.
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) if (each !== undefined) copy[key] = each;
  return copy as Defined<T>;
}
