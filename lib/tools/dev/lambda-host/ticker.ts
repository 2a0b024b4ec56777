import type { HostEvent, LambdaFunction } from './lambda-function.ts';

/** Starts a function at a fixed rate until it is stopped. */
export interface Ticker {
  /** Invokes the function now, besides its rate. */
  invokeNow(): void;
  stop(): Promise<void>;
}

/**
 * Invokes as EventBridge does with an asynchronous target that has no retries: at a fixed rate, without waiting for the
 * invocation before, and a throttled or failed one is not repeated.
 */
export function startTicker(options: {
  readonly target: LambdaFunction;
  readonly everyMs: number;
  readonly onFailure?: (failure: Extract<HostEvent, { kind: 'ended' }>['outcome']) => void;
}): Ticker {
  const { target, everyMs } = options;
  const underWay = new Set<Promise<void>>();
  const invokeNow = () => {
    const invocation = target.invoke(scheduledEvent()).then((result) => {
      if (result.outcome === 'functionError') options.onFailure?.(result);
    });
    underWay.add(invocation);
    void invocation.finally(() => underWay.delete(invocation));
  };
  invokeNow();
  const timer = setInterval(invokeNow, everyMs);
  return {
    invokeNow,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

const scheduledEvent = () => ({
  version: '0',
  id: crypto.randomUUID(),
  'detail-type': 'Scheduled Event',
  source: 'aws.events',
  account: '000000000000',
  time: new Date().toISOString(),
  region: 'local',
  resources: [],
  detail: {},
});
