import { createProducer } from 'leasehold/producer';
import { registry } from './registry.ts';

const producer = createProducer({ registry });

/** Takes an order. The job's id comes from the order, so that the same order twice is one invoice. */
export async function handler(order: { readonly id: number; readonly email: string }) {
  const { jobId } = await producer.send(
    'send-invoice',
    { order: order.id, to: order.email },
    { jobId: `invoice-${order.id}` },
  );
  return { jobId };
}
