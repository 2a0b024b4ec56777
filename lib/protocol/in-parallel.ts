/** Throws the first failure; work already started continues. */
export async function inParallel<T>(
  work: readonly T[],
  width: number,
  run: (part: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < work.length) await run(work[next++] as T);
  };
  await Promise.all(Array.from({ length: Math.min(width, work.length) }, lane));
}
