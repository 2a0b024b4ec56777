import { formatDollars } from '../lib/tools/plan/format-dollars.ts';
import { listPrices } from '../lib/tools/plan/prices.ts';
import type { Environment, Identity } from './identity.ts';

export const STACK = 'LeaseholdRehearsal';
export const POOL = 'aside';
/** Leaves room for the reaper in a new account, which has 10 concurrent executions. */
export const WORKER_CONCURRENCY = 4;
/** How long a rehearsal takes, for the preflight of sessions. */
export const MINUTES = 80;

export interface Choice extends Identity {
  readonly account: string;
  readonly region: string;
  readonly only?: readonly string[];
}

export const COUNTS = { wakes: 20, rounds: 20, held: 10, looks: 200, throttled: 300 } as const;
export type Counts = { readonly [name in keyof typeof COUNTS]: number };

const HOURS = 1.5;
const MONTH_HOURS = 730.5;

/** One rehearsal by list prices, from counts that are rounded up. @internal */
export const COST: readonly (readonly [what: string, dollars: number])[] = [
  [
    '60,000 write units and 120,000 read units',
    0.06 * listPrices.perMillionWriteUnits + 0.12 * listPrices.perMillionReadUnits,
  ],
  ['30,000 queue requests', 0.03 * listPrices.perMillionQueueRequests],
  [
    '2,000 GB-s and 3,000 invocations',
    2000 * listPrices.perGbSecond + 0.003 * listPrices.perMillionInvocations,
  ],
  [
    `20 alarm metrics and 20 custom metrics for ${HOURS} hours`,
    ((20 * listPrices.perAlarmMetric + 20 * listPrices.perCustomMetric) * HOURS) / MONTH_HOURS,
  ],
  ['10 MB of logs', 0.01 * listPrices.perLoggedGb],
  [
    `a KMS key for ${HOURS} hours and 20,000 requests to it`,
    (listPrices.perKeyMonth * HOURS) / MONTH_HOURS + 0.02 * listPrices.perMillionKeyRequests,
  ],
];

const total = COST.reduce((sum, [, dollars]) => sum + dollars, 0);

export const planText = (
  { account, region }: Choice,
  steps: readonly { readonly name: string; readonly title: string }[],
): string =>
  [
    `This rehearsal uses the real AWS account ${account} in ${region}. It takes about ${MINUTES} minutes:`,
    ...steps.map(({ name, title }, i) => `${String(i + 1).padStart(4)}. ${name}: ${title}`),
    '',
    `It costs about ${formatDollars(total)}, by list prices of us-east-1 without free tiers:`,
    ...COST.map(([what, dollars]) => `  ${formatDollars(dollars).padStart(8)}  ${what}`),
    '',
    'The stack is deleted at the end, after a failure and on Ctrl-C. Where that is impossible, the command that deletes it is printed.',
  ].join('\n');

export interface Given extends Identity {
  readonly account: string;
  readonly region?: string;
  readonly yes?: boolean;
  readonly only?: string;
}

const ROLE = /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/;

export function chooseAccount(
  given: Given,
  environment: Environment,
  stepNames: readonly string[],
): Choice | { readonly refused: string } {
  const { account, profile, role } = given;
  const region = given.region ?? environment.AWS_REGION ?? '';
  const only = given.only?.split(',');
  const unknown = only?.filter((name) => !stepNames.includes(name)) ?? [];
  const problems: string[] = [];
  if (!/^\d{12}$/.test(account))
    problems.push(
      `--account is '${account}'; it must be the 12 digits of the account that may be used: aws sts get-caller-identity shows yours`,
    );
  if (!/^[a-z]{2}(-[a-z]+)+-\d$/.test(region))
    problems.push(`the region is '${region}'; name one, such as --region eu-west-1, or set AWS_REGION`);
  if (profile === '') problems.push('--profile is empty; name a profile of your AWS configuration');
  if (role !== undefined && !ROLE.test(role))
    problems.push(
      `--role is '${role}'; it must be the ARN of a role, such as arn:aws:iam::${/^\d{12}$/.test(account) ? account : '123456789012'}:role/rehearsal`,
    );
  if (unknown.length > 0)
    problems.push(`--only names no step: ${unknown.join(', ')}; the steps are ${stepNames.join(', ')}`);
  if (problems.length > 0) return { refused: problems.join('\n') };
  return { account, region, profile, role, only };
}

export const yesArguments = ({ account, region, profile, role, only }: Choice): string =>
  [
    `--account ${account} --region ${region}`,
    ...(profile === undefined ? [] : [`--profile ${profile}`]),
    ...(role === undefined ? [] : [`--role ${role}`]),
    ...(only === undefined ? [] : [`--only ${only.join(',')}`]),
    '--yes',
  ].join(' ');
