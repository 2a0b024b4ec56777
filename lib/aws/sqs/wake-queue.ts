import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { QueueUnavailableError } from '../../protocol/errors.ts';
import type { WakeQueue } from '../../protocol/ports.ts';

export const createWakeQueue = (client: SQSClient, queueUrl: string): WakeQueue => ({
  async send(token, delaySeconds) {
    try {
      await client.send(
        new SendMessageCommand({
          QueueUrl: queueUrl,
          MessageBody: JSON.stringify({ wake: token }),
          DelaySeconds: delaySeconds,
        }),
      );
    } catch (error) {
      throw new QueueUnavailableError('SendMessage', error);
    }
  },
});
