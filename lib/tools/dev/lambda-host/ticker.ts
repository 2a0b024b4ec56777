import type { HostEvent, LambdaFunction } from './lambda-function.ts';

export type Ticker = ReturnType<typeof startTicker>;

/** Like EventBridge without retries: a fixed rate, whatever happened to the previous invocation. */
export function startTicker(options: {
  readonly target: LambdaFunction;
  readonly everyMs: number;
  readonly onFailure?: (failure: Extract<HostEvent, { kind: 'ended' }>['outcome']) => void;
}) {
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
    async stop(): Promise<void> {
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
