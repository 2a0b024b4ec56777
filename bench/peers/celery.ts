import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { jobId } from '../systems/system.ts';

const run = promisify(execFile);
const FOLDER = new URL('.', import.meta.url).pathname;
const PYTHON_HOME = new URL('../node_modules/.celery', import.meta.url).pathname;
const PACKAGE = 'celery[redis]==5.7.0';
const LIMIT_MS = 30_000;
/** Its pool replaces dead processes every five seconds: with both alive again, each trial finds it as the first did. */
const BETWEEN_MS = 6000;

interface Line {
  readonly event: 'start' | 'dying' | 'end';
  readonly id: string;
  readonly at: number;
}

/** Celery's prefork pool with late acknowledgement: its parent process, too, outlives the code of tasks. A reason where it is skipped. */
export async function celeryRecovery(
  redis: string,
  trials: number,
): Promise<Spread | undefined | { readonly skipped: string }> {
  const problem = await install();
  if (problem !== undefined) return { skipped: problem };
  const folder = mkdtempSync(join(tmpdir(), 'bench-celery-'));
  const env = { ...process.env, BENCH_REDIS: redis, PYTHONPATH: FOLDER };
  const worker = spawn(
    join(PYTHON_HOME, 'bin', 'celery'),
    ['-A', 'celery_tasks', 'worker', '--loglevel', 'ERROR', '--pool', 'prefork', '--concurrency', '2'],
    { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const lines: Line[] = [];
  createInterface({ input: worker.stdout }).on('line', (text) => {
    if (text.startsWith('{"event"')) lines.push(JSON.parse(text) as Line);
  });
  const delays: number[] = [];
  try {
    for (let trial = 0; trial < trials; trial += 1) {
      if (trial > 0) await sleep(BETWEEN_MS);
      const id = jobId();
      const of = (event: Line['event']) => lines.filter((line) => line.event === event && line.id === id);
      await run(join(PYTHON_HOME, 'bin', 'python'), [join(FOLDER, 'celery_tasks.py'), id, folder], { env });
      for (const limit = Date.now() + LIMIT_MS; of('end').length === 0 && Date.now() < limit; )
        await sleep(20);
      const [dying] = of('dying');
      const again = of('start')[1];
      if (dying !== undefined && again !== undefined) delays.push(again.at - dying.at);
    }
  } finally {
    worker.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
  return spreadOf(delays);
}

/** Into a virtual environment beside the other peers; a reason where that cannot be done. */
async function install(): Promise<string | undefined> {
  if (existsSync(join(PYTHON_HOME, 'bin', 'celery'))) return undefined;
  try {
    await run('python3', ['-m', 'venv', PYTHON_HOME]);
    await run(join(PYTHON_HOME, 'bin', 'pip'), ['install', '--quiet', PACKAGE]);
    return undefined;
  } catch (error) {
    return `Celery could not be installed (${error instanceof Error ? error.message.split('\n')[0] : error})`;
  }
}
