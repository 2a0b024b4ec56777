import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { defineJob, type JobContext } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

/** What a job of the type `act` does. */
export const acts = {
  /** Returns what it was given, after a while. */
  async return({ ms = 0 }: Given) {
    await sleep(ms);
    return { pid: process.pid, send: typeof process.send };
  },
  exit: ({ code = 3 }: Given) => process.exit(code),
  kill: () => process.kill(process.pid, 'SIGKILL'),
  abort: () => process.abort(),
  /** As native code does: nothing of Node's runs before the end. */
  nativeAbort: () => {
    process.kill(process.pid, 'SIGABRT');
    return new Promise(() => {});
  },
  throwLater: () => {
    setTimeout(() => {
      throw new Error('thrown by a timer');
    });
    return new Promise(() => {});
  },
  rejectLater: () => {
    void Promise.reject(new Error('nobody listens'));
    return new Promise(() => {});
  },
  /** Catches what nobody else does, as some libraries make a process do, and ends later in another way. */
  surviveThenKill: () => {
    process.on('uncaughtException', () => setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50));
    return acts.throwLater();
  },
  surviveThenExit: () => {
    process.on('uncaughtException', () => setTimeout(() => process.exit(3), 50));
    return acts.throwLater();
  },
  disconnect: () => {
    process.disconnect();
    return new Promise(() => {});
  },
  /** Without the cell's own knowledge. */
  closeChannel: () => {
    closeSync(3);
    return new Promise(() => {});
  },
  heap: () => {
    const hoard: unknown[] = [];
    for (;;) hoard.push(new Array(1000).fill(Math.random()));
  },
  /** Memory that is not on the heap, a little at a time. */
  async buffers() {
    const hoard: Buffer[] = [];
    for (;;) {
      hoard.push(Buffer.alloc(8 * 1024 * 1024, 1));
      await sleep(5);
    }
  },
  spin: () => {
    for (;;);
  },
  /** Computes without giving way, and looks at its signal all the while. */
  compute: ({ ms = 0 }: Given, { signal, progress }: JobContext) => {
    progress('begun');
    const from = performance.now();
    while (!signal.aborted && performance.now() - from < ms);
    return { pid: process.pid, aborted: signal.aborted, afterMs: performance.now() - from };
  },
  async ignoreSignal({ ms = 60_000 }: Given) {
    await sleep(ms);
  },
  async heedSignal(_: Given, { signal }: JobContext) {
    await sleep(60_000, undefined, { signal }).catch(() => {});
    signal.throwIfAborted();
  },
  /** Waits for its signal without a look at it, and tells of it. */
  listen: ({ journal = '' }: Given, { signal }: JobContext) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        appendFileSync(journal, `${signal.reason}\n`);
        resolve();
      });
    }),
  /** Does one thing after another, each only while it may. */
  async effects({ journal = '' }: Given, { signal }: JobContext) {
    for (;;) {
      await sleep(20);
      signal.throwIfAborted();
      appendFileSync(journal, `${JSON.stringify({ effect: true, pid: process.pid, at: Date.now() })}\n`);
    }
  },
  /** Leaves something behind that looks at its signal when it is over. */
  leaveLook: ({ journal = '' }: Given, { signal }: JobContext) => {
    setTimeout(() => {
      const { aborted, reason } = signal;
      appendFileSync(journal, `${JSON.stringify({ aborted, reason: String(reason) })}\n`);
    }, 50);
    return 'left';
  },
  async save({ place }: Given, { save }: JobContext) {
    await save(place ?? null);
    return 'saved';
  },
  /** Removes the listeners of its process, as some libraries do before an end, and saves all the same. */
  saveUnheard: (given: Given, context: JobContext) => {
    process.removeAllListeners('message');
    return acts.save(given, context);
  },
  /** Past the console, as loggers do. */
  async write() {
    for (const output of [process.stdout, process.stderr]) output.write('a line\n');
    await sleep(100);
    return 'written';
  },
  /** Leaves a timer behind that throws when it is over. */
  leaveTimer: ({ ms = 0 }: Given) => {
    setTimeout(() => {
      throw new Error('left behind');
    }, ms);
    return 'left a timer';
  },
  /** Replaces what it finds, as libraries that set the clock for tests do, and leaves it so. */
  stopTimers: () => {
    for (const name of ['setImmediate', 'setInterval', 'setTimeout'] as const)
      Object.assign(globalThis, { [name]: () => ({ unref() {} }) });
    Date.now = () => 0;
    return { pid: process.pid };
  },
  /** Leaves its process in a state that harms later jobs, in the way that `place` names. */
  poison: ({ place = '' }: Given) => {
    if (place === 'JSON') JSON.stringify = () => 'nonsense';
    if (place === 'Date') Date.now = () => 0;
    if (place === 'setTimeout') Object.assign(globalThis, { setTimeout: () => ({ unref() {} }) });
    if (place === 'Object.prototype') Object.assign(Object.prototype, { polluted: true });
    if (place === 'descriptors') {
      execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=400']);
      for (let n = 0; n < 350; n++) openSync('/dev/null', 'r');
    }
    return { pid: process.pid };
  },
  /** Starts a process that outlives it unless somebody ends it. */
  child: ({ place }: Given) => {
    const child = spawn('sleep', ['1000'], { detached: place === 'detached' });
    return { child: child.pid ?? 0 };
  },
  /** Many lines at once, to see that none is torn by another cell's. */
  async print({ lines = 1, width = 10 }: Given, { log }: JobContext) {
    for (let n = 0; n < lines; n++) {
      console.log('x'.repeat(width), n);
      log.info('y'.repeat(width), { n });
      await sleep(1);
    }
    console.error('to stderr');
  },
  /** Memory that stays with the process, job after job. */
  leak: ({ mb = 0 }: Given) => {
    leaked.push(Buffer.alloc(mb * 1024 * 1024, 1));
    return { pid: process.pid };
  },
  /** Where a debugger can be attached. */
  debugger: () => ({ url: inspectorUrl() ?? null }),
  /** What the handler's surroundings say of where its message came from. */
  origin: () => ({ traceId: process.env._X_AMZN_TRACE_ID ?? null }),
  /** Shares a timer with its neighbours, as jobs share a pool of connections. */
  async usePool({ ms = 0 }: Given) {
    pool.open();
    await sleep(ms);
    return { pid: process.pid };
  },
  /** Makes the pool throw, in the context of whoever opened it. */
  async poisonPool() {
    pool.open();
    pool.isPoisoned = true;
    await sleep(60_000);
  },
} as const;

const leaked: Buffer[] = [];
const pool = {
  isPoisoned: false,
  timer: undefined as NodeJS.Timeout | undefined,
  open() {
    this.timer ??= setInterval(() => {
      if (this.isPoisoned) throw new Error('from the pool');
    }, 10);
  },
};

export type Act = keyof typeof acts;
interface Given {
  readonly ms?: number;
  readonly code?: number;
  readonly place?: string;
  readonly lines?: number;
  readonly width?: number;
  readonly mb?: number;
  readonly journal?: string;
}

const payload = z.object({
  act: z.string(),
  ms: z.optional(z.number()),
  code: z.optional(z.number()),
  place: z.optional(z.string()),
  lines: z.optional(z.number()),
  width: z.optional(z.number()),
  mb: z.optional(z.number()),
  /** A file to which each start is told: job, attempt, time. */
  journal: z.optional(z.string()),
});

const act = defineJob({
  type: 'act',
  payload,
  async run({ jobId, attempt, payload: given }, context) {
    if (given.journal !== undefined)
      appendFileSync(
        given.journal,
        `${JSON.stringify({ jobId, attempt, pid: process.pid, at: Date.now() })}\n`,
      );
    return ((await acts[given.act as Act](given, context)) ?? null) as never;
  },
});

const waitsLonger = defineJob({
  type: 'waitsLonger',
  backoff: (errors) => errors * 7_000,
  run() {
    throw new Error('not yet');
  },
});

/** Stores a place before each death, and is done when it has come far enough. */
const stubborn = defineJob({
  type: 'stubborn',
  payload: z.object({ deaths: z.int() }),
  checkpoint: z.int(),
  async run({ payload: { deaths }, checkpoint = 0 }, { save }) {
    if (checkpoint >= deaths) return { deaths: checkpoint };
    await save(checkpoint + 1);
    process.exit(1);
  },
});

export const registry = createRegistry([act, waitsLonger, stubborn]);
