import type { Cells, RunEnd } from '../../lib/worker/cells/cells.ts';
import type { FromCell } from '../../lib/worker/cells/channel.ts';
import type { CellExit } from '../../lib/worker/cells/host/cause-of-death.ts';
import { of, setting } from './alter-writes.ts';
import { QUIET } from './fault-kinds.ts';
import type { PlantedBug } from './planted-bug.ts';
import type { Process } from './world.ts';

/** The same cells, whose runs end as the mistake would have it. */
const endingRuns =
  (change: (end: RunEnd) => RunEnd | Promise<RunEnd>) =>
  (cells: Cells): Cells => ({
    ...cells,
    start(work) {
      const run = cells.start(work);
      return { ...run, end: run.end.then(change) };
    },
  });

/** The attempts that each host has given to its cells. */
const handedBy = new WeakMap<Process, Set<string>>();

/** Mistakes of a host with its cells. */
export const cellBugs: readonly PlantedBug[] = [
  {
    name: 'a host acts before its cell is dead',
    searchFrom: 274,
    breaks: /still lives in a cell/,
    alterLauncher: (launch, host) => (orders) => {
      const process = launch(orders);
      const early = Promise.withResolvers<CellExit>();
      const gone = Promise.withResolvers<void>();
      return {
        ...process,
        disconnected: Promise.race([gone.promise, process.disconnected]),
        onExit(listener) {
          process.onExit(early.resolve);
          void early.promise.then(listener);
        },
        end() {
          process.end();
          host.tick(1, () => {
            early.resolve({ code: null, signal: 'SIGKILL' });
            gone.resolve();
          });
        },
      };
    },
    rates: { cellStalls: 3, killIsSlow: 5 },
  },
  {
    name: 'a crash is charged to whoever was in the cell',
    breaks: /not alone in a fresh cell/,
    alterCells: endingRuns((end) => (end.kind === 'died' ? { ...end, crashedAlone: true } : end)),
    size: 'crowd',
  },
  {
    name: 'a claim is forgotten when several die together',
    breaks: /after its cell died|at the end/,
    alterCells: endingRuns((end) =>
      end.kind === 'died' && end.maxInCell !== undefined && !end.crashedAlone ? new Promise(() => {}) : end,
    ),
    rates: { ...QUIET, cellDies: 5 },
    size: 'crowd',
  },
  {
    name: 'marked jobs share cells with others',
    searchFrom: 128,
    breaks: /not marked/,
    alterCells: (cells) => ({
      ...cells,
      start: (work) => cells.start({ ...work, maxInCell: work.maxInCell === 1 ? 1 : undefined }),
    }),
    rates: { ...QUIET, cellDies: 3 },
    size: 'crowd',
  },
  {
    name: 'a death does not lower how many share a cell',
    breaks: /may be in it/,
    alterCells: endingRuns((end) =>
      end.kind === 'died' && end.maxInCell !== undefined ? { ...end, maxInCell: 100 } : end,
    ),
    size: 'crowd',
  },
  {
    name: 'a job runs alone, but in a cell that others have used',
    breaks: /not in a fresh cell/,
    alterCells: (cells) => ({
      ...cells,
      start: (work) => cells.start({ ...work, maxInCell: work.maxInCell === 1 ? 2 : work.maxInCell }),
    }),
    size: 'crowd',
  },
  {
    name: 'one poison job can throttle its type',
    breaks: /which are too few/,
    alterCrashThrottle(crashThrottle) {
      let deaths = 0;
      return {
        ...crashThrottle,
        recordCrash: ({ jobId, type }) =>
          crashThrottle.recordCrash({ jobId: `${jobId}, death ${++deaths}`, type }),
      };
    },
    size: 'crowd',
  },
  {
    name: 'there is no crash throttle',
    breaks: /whose cells keep dying/,
    alterCrashThrottle: (crashThrottle) => ({
      ...crashThrottle,
      typePausedMs: () => 0,
      hostPausedMs: () => 0,
    }),
    rates: { ...QUIET, messageDelayed: 1 },
    size: 'crowd',
  },
  {
    name: 'a restart forgives crashes without progress',
    breaks: /charged -|at the end|charged to nothing/,
    alterWrite: of(['restart'], setting({ crashes: 0 })),
    size: 'crowd',
  },
  {
    name: 'a job that is lost again runs again at once',
    breaks: /runs again at once/,
    alterWrite: of(['reclaim'], (write) => {
      const ended = Object.entries(write.set).find(([name]) => name.startsWith('claim'))?.[1];
      return setting({ notBefore: (ended as { readonly to: number }).to })(write);
    }),
    rates: { ...QUIET, diesAtAwait: 9 },
    size: 'full',
  },
  {
    name: 'the end of a run is offered once',
    breaks: /could have stored that/,
    alterWorker: ({ store, queue }) => ({
      queue,
      store: {
        ...store,
        retry: (...given) => store.retry(...given).catch(() => ({ outcome: 'lost' as const })),
        complete: (...given) => store.complete(...given).catch(() => ({ outcome: 'lost' as const })),
      },
    }),
    rates: { ...QUIET, throttled: 14, handlerThrows: 3 },
  },
  {
    name: 'marked jobs hold others up',
    breaks: /nothing stood in its way/,
    alterCells(cells) {
      const marked = new Set<Promise<unknown>>();
      return {
        ...cells,
        start(work) {
          const begin = () => cells.start(work);
          const run =
            work.maxInCell === undefined ? Promise.all(marked).then(begin) : Promise.resolve(begin());
          const end = run.then((started) => started.end).finally(() => marked.delete(end));
          if (work.maxInCell !== undefined) marked.add(end);
          return {
            end,
            abort: (reason) => void run.then((started) => started.abort(reason)),
            kill: () => void run.then((started) => started.kill()),
          };
        },
      };
    },
    rates: { ...QUIET, cellDies: 3 },
    size: 'crowd',
  },
  {
    name: 'a host listens to a cell that is dead',
    searchFrom: 28,
    breaks: /still lives in a cell|two handlers under one claim/,
    alterLauncher(launch) {
      const jobs = new Map<number, string>();
      const newest = new Map<string, { readonly run: number; readonly hear: (heard: unknown) => void }>();
      return (orders) => {
        const process = launch(orders);
        let hear: (heard: unknown) => void = () => {};
        return {
          ...process,
          send(messages) {
            for (const message of messages) {
              if (message.kind !== 'run') continue;
              jobs.set(message.run, message.job.jobId);
              newest.set(message.job.jobId, { run: message.run, hear });
            }
            process.send(messages);
          },
          onMessage(listener) {
            hear = listener;
            process.onMessage((heard) => {
              for (const message of heard as readonly FromCell[]) {
                const now = 'run' in message ? newest.get(jobs.get(message.run) ?? '') : undefined;
                if (now === undefined) listener([message]);
                else now.hear([{ ...message, run: now.run }]);
              }
            });
          },
        };
      };
    },
    rates: { ...QUIET, cellDies: 5, cellHeardLate: 5 },
    size: 'crowd',
  },
  {
    name: 'a stall is counted over a freeze',
    breaks: /killed as stalled/,
    alterTimers: (timers, host) => ({
      ...timers,
      every(ms, run) {
        let at = host.clock.now();
        return timers.every(ms, () => {
          const times = Math.max(1, Math.floor((host.clock.now() - at) / ms));
          at = host.clock.now();
          for (let n = 0; n < times; n++) run();
        });
      },
    }),
    rates: { pauses: 3 },
  },
  {
    name: 'a cell does not look at the end of its lease',
    searchFrom: 156,
    breaks: /lease taken from|two live leases/,
    alterShared(shared) {
      const granted = shared.granted.bind(shared);
      const never = { wall: Number.POSITIVE_INFINITY, monotonic: Number.POSITIVE_INFINITY };
      return Object.assign(shared, {
        granted: (slot: number) => ({ ...granted(slot), stop: 0, endsAt: never }),
      });
    },
    rates: { hostPausesAlone: 5 },
  },
  {
    name: 'a job that was told to stop while it waited for a cell begins',
    breaks: /told to stop while it waited/,
    alterLauncher(launch, host) {
      const handed = new Set<string>();
      handedBy.set(host, handed);
      return (orders) => {
        const process = launch(orders);
        return {
          ...process,
          send(messages) {
            for (const message of messages)
              if (message.kind === 'run') handed.add(`${message.job.jobId} ${message.job.attempt}`);
            process.send(messages);
          },
        };
      };
    },
    alterCells: (cells, host) => ({
      ...cells,
      start(work) {
        const run = cells.start(work);
        const abort: typeof run.abort = (reason) => {
          if (handedBy.get(host)?.has(`${work.job.jobId} ${work.job.attempt}`)) run.abort(reason);
        };
        return { ...run, abort };
      },
    }),
    rates: { cellDies: 5, operatorCancels: 5 },
    size: 'crowd',
  },
];
