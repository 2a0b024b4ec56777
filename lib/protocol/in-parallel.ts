/** Works through a list, so many at once. The first failure is passed on; what was begun goes on. */
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
