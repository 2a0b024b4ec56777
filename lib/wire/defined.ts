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
export const defined = <T extends object>(value: T): Defined<T> =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<T>;
