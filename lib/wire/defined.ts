type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** For rows, environments, and objects spread over defaults, where an undefined value would count. */
export function defined<T extends object>(value: T): Defined<T> {
  const copy: Record<string, unknown> = {};
  // A loop, because every row write runs this.
  for (const name of Object.keys(value)) {
    const each = value[name as keyof T];
    if (each !== undefined) setOwn(copy, name, each);
  }
  return copy as Defined<T>;
}

/** Assigning `__proto__` would set the prototype. */
export function setOwn<T>(target: Record<string, T>, name: string, value: T): void {
  if (name !== '__proto__') target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
