import { connectDeployed } from '../../aws/connect-deployed.ts';
import type { PowertoolsTelemetry } from '../../aws/telemetry.ts';
import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import type { ReceivedMessage } from '../../protocol/ports.ts';
import { configurationFromEnvironment } from '../../settings/environment.ts';
import type { SqsHandler } from '../../wire/lambda.ts';
import { readMessage } from '../intake/read-message.ts';
import { dropLateTick, rejectMessage } from '../intake/reject-message.ts';
import { sendHint } from '../run/send-hint.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { sqsHandler } from './sqs-handler.ts';

type Parts = Pick<WorkerParts, 'settings' | 'clock' | 'store' | 'queue' | 'telemetry'>;

const deployed = () => connectDeployed({ configuration: configurationFromEnvironment(process.env) });

/** Handles the dead-letter queue: stores jobs that were never claimed as rows, which the reaper dispatches. */
export function createDeadLetterHandler(
  parts: Parts & { readonly telemetry: PowertoolsTelemetry } = deployed(),
): SqsHandler {
  return sqsHandler(parts.telemetry, async (messages) => {
    const kept = await Promise.all(messages.map((message) => keepDeadLetter(parts, message)));
    return messages.filter((_, i) => !kept[i]);
  });
}

/** @internal */
export async function keepDeadLetter(parts: Parts, message: ReceivedMessage): Promise<boolean> {
  const { settings, clock, store, telemetry } = parts;
  try {
    // This function knows no job types; the first claim sets the limits that the message omits.
    const read = readMessage(message, parts, () => undefined);
    const now = clock.now();
    switch (read.kind) {
      case 'rejected':
        await rejectMessage(parts, read.rejected);
        return true;
      case 'late':
        dropLateTick(parts, read);
        return true;
      // Its row is in the lease index, so the reaper sends another hint.
      case 'hint':
        return true;
      case 'new':
      case 'later': {
        const dispatch = planDispatch(now, read.kind === 'later' ? read.notBefore : now, settings);
        // This role cannot read rows, so the write itself detects an existing one.
        const scheduled = await store.schedule(read.job, dispatch);
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
