import { useEffect, useRef } from 'preact/hooks';
import { postRows } from '../api.ts';

const AT_ONCE = 25;
const UNTIL_NEWS_MS = 150;

export function useRows(wanted: readonly string[]): void {
  const latest = useRef(wanted);
  latest.current = wanted;
  const tried = useRef(new Set<string>());
  const isWanted = wanted.length > 0;
  useEffect(() => {
    let isLeft = false;
    const read = async () => {
      while (!isLeft) {
        const next = latest.current.filter((jobId) => !tried.current.has(jobId)).slice(0, AT_ONCE);
        if (next.length > 0) {
          for (const jobId of next) tried.current.add(jobId);
          await postRows(next);
        }
        await new Promise((resolve) => setTimeout(resolve, UNTIL_NEWS_MS));
      }
    };
    if (isWanted) void read();
    return () => {
      isLeft = true;
    };
  }, [isWanted]);
}
