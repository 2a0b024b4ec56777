import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { configurationFromEnvironment } from '../../settings/environment.ts';
import type { SqsHandler } from '../../wire/lambda.ts';
import { connectWorker, type WorkerConnection, type WorkerConnectOptions } from '../compose-worker.ts';
import { readMessage } from '../intake/read-message.ts';
import { dropLateTick, rejectMessage } from '../intake/reject-message.ts';
import { sendHint } from '../run/send-hint.ts';
import { receivedMessage, withPowertools } from './lambda-host.ts';

type DeadLetterParts = Pick<WorkerConnection, 'settings' | 'clock' | 'store' | 'queue' | 'telemetry'>;

export type DeadLetterOptions = Partial<WorkerConnectOptions> & {
  /** Parts put together elsewhere. @default - composed from the environment's variables */
  readonly parts?: DeadLetterParts;
};

/**
 * The handler of the dead-letter queue's Lambda. A message gets there without its job ever having been claimed (workers
 * were down, or throttled), so its job is put into a row, from where it is dispatched again until it runs.
 */
export function createDeadLetterHandler(options: DeadLetterOptions = {}): SqsHandler {
  const parts =
    options.parts ??
    connectWorker({
      ...options,
      configuration: options.configuration ?? configurationFromEnvironment(process.env),
    });
  return withPowertools(parts.telemetry, async (event) => {
    const messages = event.Records.map(receivedMessage);
    const kept = await Promise.all(messages.map((message) => keep(parts, message)));
    return {
      batchItemFailures: messages
        .filter((_, i) => kept[i] === false)
        .map(({ messageId }) => ({ itemIdentifier: messageId })),
    };
  });
}

/** Whether what the message asks for is in a row now. */
async function keep(parts: DeadLetterParts, message: ReceivedMessage): Promise<boolean> {
  const { settings, clock, store, telemetry } = parts;
  try {
    // Without the job types: the settings' own terms do until the first claim, by a worker that knows the type's.
    const read = readMessage(message, parts, () => undefined);
    const now = clock.now();
    switch (read.kind) {
      case 'rejected':
        await rejectMessage(parts, read.rejected);
        return true;
      case 'late':
        dropLateTick(parts, read);
        return true;
      // Its row is in the lease index: the reaper hints again by itself.
      case 'hint':
        return true;
      case 'new':
      case 'later': {
        const dispatch = planDispatch(now, read.kind === 'later' ? read.notBefore : now, settings);
        const scheduled = await store.schedule(read.job, dispatch, true);
        if (scheduled.outcome === 'written') await sendHint(parts, read.job, dispatch);
        telemetry.info('message taken from the dead-letter queue', {
          jobId: read.job.jobId,
          outcome: scheduled.outcome,
        });
        return true;
      }
    }
  } catch (error) {
    telemetry.error('message stays in the dead-letter queue', error, { messageId: message.messageId });
    return false;
  }
}
