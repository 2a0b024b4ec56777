import type { Clock, Telemetry } from '../../protocol/ports.ts';

const LOOK_MS = 10_000;
/** Shorter jobs are released in time by any container that is scaled in. */
const AFTER_MS = 30_000;
const EXPIRES_MINUTES = 5;
const RENEWED_EVERY_MS = 120_000;
const CLEARED_AFTER_MS = 60_000;
const ANSWER_MS = 5000;

export interface ProtectionOptions {
  readonly agentUri: string;
  /** Longest protection without a pause. */
  readonly minutes: number;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'warn'>;
  readonly longestRunMs: () => number;
}

/**
 * Protection is optional, so failures are logged once:
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html
 */
export function protectTask(options: ProtectionOptions): { stop(): Promise<void> } {
  const { clock, minutes, longestRunMs } = options;
  const stopping = new AbortController();
  const setState = createAgent(options);
  let since: number | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let idleSince: number | undefined;

  const clear = async () => {
    if (since === undefined) return;
    since = idleSince = undefined;
    renewedAt = Number.NEGATIVE_INFINITY;
    await setState({ ProtectionEnabled: false });
  };
  const look = async () => {
    const now = clock.monotonic();
    if (longestRunMs() >= AFTER_MS) {
      idleSince = undefined;
      since ??= now;
      const isWithinBound = now - since < minutes * 60_000;
      if (!isWithinBound || now - renewedAt < RENEWED_EVERY_MS) return;
      renewedAt = now;
      await setState({ ProtectionEnabled: true, ExpiresInMinutes: EXPIRES_MINUTES });
    } else if (since !== undefined) {
      idleSince ??= now;
      if (now - idleSince >= CLEARED_AFTER_MS) await clear();
    }
  };
  const watch = async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(LOOK_MS, stopping.signal).catch(() => {});
      if (!stopping.signal.aborted) await look();
    }
    await clear();
  };
  const watching = watch();
  return {
    stop() {
      stopping.abort();
      return watching;
    },
  };
}

function createAgent({ agentUri, telemetry }: ProtectionOptions) {
  let hasFailed = false;
  return async (state: { ProtectionEnabled: boolean; ExpiresInMinutes?: number }): Promise<void> => {
    const failure = await fetch(`${agentUri}/task-protection/v1/state`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(state),
      signal: AbortSignal.timeout(ANSWER_MS),
    }).then(
      async (reply) => (reply.ok ? undefined : `${reply.status} ${await reply.text()}`),
      (error: Error) => error.message,
    );
    if (failure === undefined || hasFailed) return;
    hasFailed = true;
    telemetry.warn('this task is not protected from being scaled in; its jobs are handed over instead', {
      reason: failure,
    });
  };
}
