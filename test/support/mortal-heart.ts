import { existsSync, writeFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';

/** A heart's thread that dies of its first claim, once; the file tells its successor. */
const flag = process.env.HEART_DIED_FILE ?? '';
if (existsSync(flag)) await import('../../lib/worker/heart/heart-thread.ts');
else {
  parentPort?.postMessage({ kind: 'ready' });
  parentPort?.on('message', () => {
    writeFileSync(flag, '');
    process.exit(1);
  });
}
