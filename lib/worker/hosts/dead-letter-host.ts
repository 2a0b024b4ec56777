import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { configurationFromEnvironment } from '../../settings/environment.ts';
import type { SqsHandler } from '../../wire/lambda.ts';
import { composeWorker } from '../compose-worker.ts';
import { noHeart } from '../heart/no-heart.ts';
import { readMessage } from '../intake/read-message.ts';
import { rejectMessage } from '../intake/reject-message.ts';
import type { Registry } from '../registry.ts';
import { sendHint } from '../run/send-hint.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { receivedMessage, type WorkerHandlerOptions, withPowertools } from './lambda-host.ts';

/**
 * The handler of the dead-letter queue's Lambda. A message gets there without its job ever having been claimed (workers
 * were down, or throttled), so its job is put into a row, from where it is dispatched again until it runs.
 */
export function createDeadLetterHandler(registry: Registry, options: WorkerHandlerOptions = {}): SqsHandler {
  const parts =
    options.parts ??
    composeWorker({
      ...options,
      registry,
      configuration: options.configuration ?? configurationFromEnvironment(process.env),
      heart: noHeart,
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
async function keep(parts: WorkerParts, message: ReceivedMessage): Promise<boolean> {
  const { settings, clock, store, telemetry } = parts;
  try {
    const read = await readMessage(message, parts);
    const now = clock.now();
    switch (read.kind) {
      case 'rejected':
        await rejectMessage(parts, read.rejected);
        return true;
      // Its row is in the lease index: the reaper hints again by itself.
      case 'hint':
        return true;
      case 'new':
      case 'later': {
        const dispatch = planDispatch(now, read.kind === 'later' ? read.notBefore : now, settings);
        const scheduled = await store.schedule(read.job, dispatch);
        if (scheduled.outcome === 'written') await sendHint(parts, read.job.jobId, dispatch);
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
