import { isOnAws } from '../../../aws/sqs/queue-age.ts';
import {
  describeQueue,
  isAbsentQueue,
  type QueueDescription,
  sourceQueuesOf,
} from '../../../aws/sqs/queue-inspection.ts';
import { counted } from '../../inspect/counted.ts';
import type { System } from '../system/system.ts';
import { type Finding, problem, warning } from './check.ts';
import { checkQueue } from './check-queue.ts';

type Parts = Pick<System, 'sqs' | 'routing' | 'settings'>;

export async function checkPools(
  parts: Parts,
  queueUrl: string,
  deadLetters: { readonly url: string; readonly queue: QueueDescription } | undefined,
): Promise<Finding[]> {
  const pools = Object.entries(parts.routing?.pools ?? {});
  const found = await Promise.all(
    pools.map(([name, pool]) => checkPool(parts, name, pool, deadLetters?.queue)),
  );
  const known = [queueUrl, ...pools.map(([, pool]) => pool.queueUrl)];
  return [...found.flat(), ...(await strayQueues(parts, known, deadLetters?.url))];
}

async function checkPool(
  { sqs, settings }: Parts,
  name: string,
  { queueUrl, types }: { readonly queueUrl: string; readonly types: readonly string[] },
  deadLetters: QueueDescription | undefined,
): Promise<Finding[]> {
  try {
    const findings = checkQueue(await describeQueue(sqs, queueUrl), deadLetters, settings);
    return findings.map((finding) => ({ ...finding, message: `pool '${name}': ${finding.message}` }));
  } catch (error) {
    if (!isAbsentQueue(error)) throw error;
    return [
      problem(
        `LEASEHOLD_POOLS sends ${types.join(', ')} to the queue ${nameOf(queueUrl)} of pool '${name}', which does not exist`,
        'deploy the stack, and take LEASEHOLD_POOLS from its workers; or give --service, which finds the pools',
      ),
    ];
  }
}

/** All pools share a dead-letter queue, which still knows the queue of a removed pool. */
async function strayQueues(
  { sqs }: Parts,
  known: readonly string[],
  deadLetterUrl: string | undefined,
): Promise<Finding[]> {
  if (deadLetterUrl === undefined) return [];
  const names = new Set(known.map(nameOf));
  let sources: readonly string[];
  try {
    sources = await sourceQueuesOf(sqs, deadLetterUrl);
  } catch (error) {
    // Emulators do not know the request.
    if (!isOnAws(deadLetterUrl)) return [];
    throw error;
  }
  const strays = sources.filter((url) => !names.has(nameOf(url)));
  return (await Promise.all(strays.map((url) => checkStray(sqs, url)))).flat();
}

async function checkStray(sqs: Parts['sqs'], url: string): Promise<Finding[]> {
  const next =
    "send them to the default queue with 'Start DLQ redrive' in the SQS console, or let a worker with the old LEASEHOLD_POOLS empty it; then delete the queue";
  try {
    const { visible, inFlight, delayed } = await describeQueue(sqs, url);
    const left = visible + inFlight + delayed;
    return left === 0
      ? []
      : [
          problem(
            `${counted(left, 'message')} left in the queue ${nameOf(url)}, which belongs to no pool`,
            next,
          ),
        ];
  } catch (error) {
    if (isAbsentQueue(error)) return [];
    return [warning(`the queue ${nameOf(url)} belongs to no pool, and cannot be read`, next)];
  }
}

const nameOf = (url: string): string => url.split('/').at(-1) ?? url;
