/** Pages and counts of many rows: whoever else uses the table waits behind them. */
export const LARGE_READS_AT_ONCE = 2;

export type Turns = <T>(act: () => Promise<T>) => Promise<T>;

/** Lets so many acts run at once; the others wait for their turn. */
export function createTurns(atOnce: number): Turns {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  return async (act) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await act();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
