import { setTimeout as sleep } from 'node:timers/promises';
import { quantile, type Spread, spreadOf } from '../support/statistics.ts';
import { startProcess } from '../support/worker-process.ts';
import { LATENCIES, latencyName, startNullEngine } from './null-engine-cost.ts';

/** What the worker function needs for a message whose handler does nothing: claim, complete and answer. Warm, with a cell. */
export interface LambdaHostCost {
  readonly latency: string;
  readonly requestsPerMessage: number;
  /** Of an invocation with one message: the median of a run. */
  readonly wallMs: Spread | undefined;
  readonly cpuMs: Spread | undefined;
}

const RUN_MS = 4000;

export async function lambdaHost(runs: number, say: (text: string) => void): Promise<LambdaHostCost[]> {
  const costs: LambdaHostCost[] = [];
  for (const latency of LATENCIES) {
    const measured = [];
    for (let run = 0; run < runs; run += 1) {
      const engine = await startNullEngine({ messages: 0, latency });
      const program = new URL('../systems/lambda-process.ts', import.meta.url).pathname;
      const function_ = await startProcess(
        { name: 'leasehold', program, stores: { dynamodb: engine.endpoint, sqs: engine.endpoint } },
        { mode: 'work', queue: 'null', profile: 'default', concurrency: 1 },
      );
      const before = await function_.stats();
      await sleep(RUN_MS);
      const { latenciesMs, cpuMs, requests } = await function_.stats();
      await function_.kill();
      await engine.stop();
      const messages = latenciesMs.length;
      measured.push({
        // Rounded: a message that is under way has sent its requests and is not counted.
        requestsPerMessage: Math.round((10 * (requests - before.requests)) / messages) / 10,
        cpuMs: (cpuMs - before.cpuMs) / messages,
        wallMs: quantile(
          [...latenciesMs].sort((a, b) => a - b),
          0.5,
        ),
      });
    }
    say(`worker function, latency ${latencyName(latency)}`);
    costs.push({
      latency: latencyName(latency),
      requestsPerMessage: spreadOf(measured.map((each) => each.requestsPerMessage))?.median ?? 0,
      wallMs: spreadOf(measured.map((each) => each.wallMs)),
      cpuMs: spreadOf(measured.map((each) => each.cpuMs)),
    });
  }
  return costs;
}
