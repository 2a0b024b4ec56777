import { subscribe } from 'node:diagnostics_channel';
import {
  constants,
  monitorEventLoopDelay,
  type NodeGCPerformanceDetail,
  PerformanceObserver,
} from 'node:perf_hooks';
import { startWorker } from '../../lib/worker/hosts/start-worker.ts';
import type { InsideSample } from './soak-sample.ts';

/** The worker of a soak, which tells its supervisor how it is whenever it is asked. Run as a program. */
const host = startWorker({ jobs: new URL('../support/journal-jobs.ts', import.meta.url) });

let requests = 0;
subscribe('http.client.request.start', () => {
  requests += 1;
});
const MIB = 2 ** 20;
const NANOSECONDS_PER_MS = 1e6;
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
/** What is left after a whole collection is held; what there is between two of them is mostly rubbish. */
let heldMb: number | undefined;
new PerformanceObserver((list) => {
  const collections = list.getEntries() as unknown as readonly { readonly detail: NodeGCPerformanceDetail }[];
  if (collections.some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR))
    heldMb = process.memoryUsage().heapUsed / MIB;
}).observe({ entryTypes: ['gc'] });

process.on('message', () => {
  const inside: InsideSample = {
    ...{ running: host.running, requests, heldMb },
    resources: process.getActiveResourcesInfo().length,
    loopDelayMs: delay.percentile(99) / NANOSECONDS_PER_MS,
  };
  delay.reset();
  process.send?.(inside);
});
process.send?.('started');
await host.stopped;
// A supervisor's channel would keep the process.
process.disconnect?.();
