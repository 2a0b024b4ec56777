import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { WakeQueue } from '../../protocol/ports.ts';
import { answered } from './answered.ts';

export const createWakeQueue = (client: SQSClient, queueUrl: string): WakeQueue => ({
  async send(token, delaySeconds) {
    const command = new SendMessageCommand({
      QueueUrl: queueUrl,
      MessageBody: JSON.stringify({ wake: token }),
      DelaySeconds: delaySeconds,
    });
    await answered('SendMessage', client.send(command));
  },
});
