import { openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The ways in which a job's code ends its process. */
export const DEATHS = ['SIGKILL', 'exit', 'throw', 'rejection', 'heap', 'native memory'] as const;
export type DeathKind = (typeof DEATHS)[number];

const MIB = 1024 * 1024;

/** Writes down when a dying job's code was last running: what is measured begins there. */
export const lastLineOf = (folder: string, id: string): string => join(folder, id);

/** Ends this process, or waits until it has ended. */
export async function die(kind: DeathKind, lastLine: () => void): Promise<never> {
  switch (kind) {
    case 'SIGKILL':
      lastLine();
      process.kill(process.pid, 'SIGKILL');
      break;
    case 'exit':
      lastLine();
      process.exit(1);
      break;
    case 'throw':
      setImmediate(() => {
        lastLine();
        throw new Error('thrown where nobody catches');
      });
      break;
    case 'rejection':
      lastLine();
      void Promise.reject(new Error('nobody listens'));
      break;
    case 'heap':
      for (const hoard: unknown[] = []; ; lastLine())
        for (let i = 0; i < 100; i += 1) hoard.push(new Array(1000).fill(Math.random()));
    case 'native memory':
      for (const hoard: Buffer[] = []; ; lastLine()) hoard.push(Buffer.alloc(8 * MIB, 1));
  }
  return new Promise<never>(() => {});
}

/** A file that holds the time of the last call. Nothing is allocated for it: there may be no memory left. */
export function stampIn(file: string): () => void {
  const descriptor = openSync(file, 'wx');
  const time = new Float64Array(1);
  const bytes = new Uint8Array(time.buffer);
  return () => {
    time[0] = Date.now();
    writeSync(descriptor, bytes, 0, bytes.length, 0);
  };
}

export const readStamp = (file: string): number => readFileSync(file).readDoubleLE();
