import { formatDollars } from '../../lib/tools/plan/format-dollars.ts';
import { listPrices } from '../../lib/tools/plan/prices.ts';

/** Which account somebody wants to rehearse in, and whether they have said yes to it. */
export interface AccountChoice {
  readonly account: string;
  readonly region: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What is done in an account, in this order. */
export const ACCOUNT_STEPS = [
  'deploy a stack of its own, LeaseholdRehearsal, with a KMS key of its own',
  'run a job on the encrypted table and queues',
  'follow the chain of wakes for 20 rounds: Lambda cuts an unwanted loop after 16',
  'let 10 leases lapse and hold the time to each reclaim against the bound',
  'let handlers use up their memory, by buffers and by objects, and exit; see the cause on each row',
  'measure how far the index is behind the table, 200 times',
  'lower the table’s maximum write units and send 300 jobs: throttled, and all done',
  'run the contract suite of the job store on a table of its own',
  'destroy the stack, its table, its queues, its logs; schedule the key for deletion in 7 days',
] as const;

const HOURS = 1.5;
const MONTH_HOURS = 730.5;

/** By list prices, from counts that are rounded up: what one rehearsal costs. */
export const ACCOUNT_COST: readonly (readonly [what: string, dollars: number])[] = [
  [
    '60,000 write units and 60,000 read units',
    0.06 * (listPrices.perMillionWriteUnits + listPrices.perMillionReadUnits),
  ],
  ['30,000 queue requests', 0.03 * listPrices.perMillionQueueRequests],
  [
    '2,000 GB-s and 3,000 invocations',
    2000 * listPrices.perGbSecond + 0.003 * listPrices.perMillionInvocations,
  ],
  [
    `15 alarm metrics and 20 custom metrics for ${HOURS} hours`,
    ((15 * listPrices.perAlarmMetric + 20 * listPrices.perCustomMetric) * HOURS) / MONTH_HOURS,
  ],
  ['10 MB of logs', 0.01 * listPrices.perLoggedGb],
  [
    `a KMS key for ${HOURS} hours ($1 a month) and 20,000 requests to it ($0.03 for 10,000)`,
    HOURS / MONTH_HOURS + 0.06,
  ],
];

const total = ACCOUNT_COST.reduce((sum, [, dollars]) => sum + dollars, 0);

/** What will be done and what it costs, as somebody reads it before they say yes. */
export const accountPlan = ({ account, region }: AccountChoice): string =>
  [
    `This rehearsal uses the real AWS account ${account} in ${region}. It takes about an hour, and will`,
    ...ACCOUNT_STEPS.map((step, i) => `  ${i + 1}. ${step}`),
    '',
    `It costs about ${formatDollars(total)}, by list prices of us-east-1 without free tiers:`,
    ...ACCOUNT_COST.map(([what, dollars]) => `  ${formatDollars(dollars).padStart(8)}  ${what}`),
    '',
    'Whatever happens, the stack is destroyed at the end. It needs an account that `cdk bootstrap` has prepared.',
  ].join('\n');

/** Variables by which a user may have named credentials. */
const CREDENTIALS = [
  ...['AWS_ACCESS_KEY_ID', 'AWS_PROFILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  ...['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI', 'AWS_CONTAINER_CREDENTIALS_FULL_URI'],
] as const;

/** What was asked for, or why it is refused. Nobody's account is touched by accident: it must be named, and there must be a yes. */
export function chooseAccount(
  given: { readonly account: string; readonly region?: string; readonly yes?: boolean },
  environment: Environment,
): AccountChoice | { readonly refused: string } {
  const region = given.region ?? environment.AWS_REGION ?? '';
  const { account } = given;
  const problems: string[] = [];
  if (!/^\d{12}$/.test(account))
    problems.push(
      `--account is '${account}'; it must be the 12 digits of the account that may be used: aws sts get-caller-identity shows yours`,
    );
  if (!/^[a-z]{2}(-[a-z]+)+-\d$/.test(region))
    problems.push(`the region is '${region}'; name one, such as --region eu-west-1, or set AWS_REGION`);
  if (!CREDENTIALS.some((name) => environment[name]))
    problems.push(`no credentials are named; set one of ${CREDENTIALS.join(', ')}`);
  if (problems.length > 0) return { refused: problems.join('\n') };
  const choice = { account, region };
  if (given.yes !== true)
    return {
      refused: `${accountPlan(choice)}\n\nNothing was done. To do it:\n  npm run rehearse -- --account ${account} --region ${region} --yes`,
    };
  return choice;
}
