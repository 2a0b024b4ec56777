import { startFaultProxy } from '../support/fault-proxy.ts';
import type { FaultRule } from '../support/faults.ts';
import { type Member, type MemberContext, startMemberBehind } from './members.ts';
import type { Mood } from './mood.ts';

export type FleetMember = Omit<Member, 'mood'>;

/** What a request takes in a region, in ms: DynamoDB, and SQS. */
const LATENCY_MS = { dynamodb: [2, 6], sqs: [5, 15] } as const;

/** Latency as in a region; in an outage nothing is answered. */
function latency(service: keyof typeof LATENCY_MS, outage: Pick<Mood, 'partitioned'>): FaultRule {
  const [least, most] = LATENCY_MS[service];
  return ({ random }) =>
    outage.partitioned
      ? { kind: 'silence', applied: false }
      : { kind: 'delay', beforeMs: random.integer(least, most) };
}

export const startLatency = (target: string, seed: number, outage: Pick<Mood, 'partitioned'>) =>
  startFaultProxy({ target, seed, rules: [latency('sqs', outage)] });

export const startFleetMember = (
  kind: FleetMember['kind'],
  { storeOutage, ...context }: MemberContext & { readonly storeOutage: Pick<Mood, 'partitioned'> },
): Promise<FleetMember> => startMemberBehind([latency('dynamodb', storeOutage)], kind, context);
