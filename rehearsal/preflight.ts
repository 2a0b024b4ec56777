import { createRequire } from 'node:module';
import { join } from 'node:path';
import { LEAST_REAPER_CONCURRENCY } from '../lib/cdk/props/check-props.ts';
import { AwsError, type AwsRequests, queryRequest, type ResolveCredentials, textIn } from './aws-request.ts';
import type { Environment } from './identity.ts';
import { type Choice, MINUTES, STACK, WORKER_CONCURRENCY } from './plan.ts';
import type { StackApi } from './remove-stack.ts';

/** What the account and this machine are like. Undefined where it may not be read. */
export interface Facts {
  readonly account: string;
  readonly clockOffsetMs: number;
  readonly bootstrapVersion: number | 'absent' | undefined;
  readonly concurrency: { readonly limit: number; readonly unreserved: number } | undefined;
  readonly session: Session;
  readonly stackStatus: string | undefined;
  readonly missingTools: readonly string[];
}

interface Session {
  readonly isTemporary: boolean;
  readonly minutesLeft?: number | undefined;
  /** Whether the SDK obtains new ones, as it does for profiles, roles and containers. */
  readonly isRenewed: boolean;
}

export interface Judgment {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const NEEDED_CONCURRENCY = WORKER_CONCURRENCY + LEAST_REAPER_CONCURRENCY;
const LEAST_BOOTSTRAP = 6;
/** Workers refuse to act at half of the allowed skew of 2 s; replies tell the time to the second. */
const MOST_OFFSET_MS = 1500;
const TOOLS = ['aws-cdk', 'aws-cdk-lib', 'constructs', 'esbuild'] as const;

/** Everything that would fail an hour later, or leave a stack behind. */
export function judge(facts: Facts, { account, region }: Choice, deleteIt: string): Judgment {
  const { bootstrapVersion, concurrency, missingTools } = facts;
  const problems: string[] = [];
  const warnings: string[] = [];
  if (missingTools.length > 0)
    problems.push(
      `${missingTools.join(', ')} cannot be found from here; install what is missing: npm install --save-dev ${missingTools.join(' ')}`,
    );
  if (facts.account !== account)
    problems.push(
      `the credentials belong to account ${facts.account}, and --account is ${account}; use a profile or role of that account, or name the other one`,
    );
  if (facts.stackStatus !== undefined)
    problems.push(
      `a stack ${STACK} already exists (${facts.stackStatus}), perhaps from a rehearsal that was killed; if it is not in use, delete it:\n  ${deleteIt}`,
    );
  if (bootstrapVersion === undefined) warnings.push('whether the CDK is bootstrapped may not be read');
  else if (bootstrapVersion === 'absent' || bootstrapVersion < LEAST_BOOTSTRAP)
    problems.push(
      `the CDK bootstrap of ${region} is ${bootstrapVersion === 'absent' ? bootstrapVersion : `version ${bootstrapVersion}`}; it must be version ${LEAST_BOOTSTRAP} or newer: npx cdk bootstrap aws://${account}/${region}`,
    );
  if (concurrency === undefined) warnings.push('the quota of concurrent executions may not be read');
  else if (concurrency.unreserved < NEEDED_CONCURRENCY)
    problems.push(
      `${concurrency.unreserved} of ${concurrency.limit} concurrent executions are unreserved in ${region}, and the rehearsal needs ${NEEDED_CONCURRENCY}; raise the quota: aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000 --region ${region}`,
    );
  if (Math.abs(facts.clockOffsetMs) > MOST_OFFSET_MS)
    problems.push(
      `this machine's clock differs from AWS's by about ${(facts.clockOffsetMs / 1000).toFixed(1)} s, and a worker acts only within 1 s; synchronize it, for example with chronyd or timedatectl set-ntp true`,
    );
  judgeSession(facts.session, problems, warnings);
  return { problems, warnings };
}

function judgeSession(session: Session, problems: string[], warnings: string[]): void {
  const { isTemporary, minutesLeft, isRenewed } = session;
  if (!isTemporary) return;
  if (minutesLeft === undefined)
    warnings.push(
      `when these temporary credentials expire is not known, and the rehearsal takes about ${MINUTES} minutes; if they expire, the stack stays until you delete it`,
    );
  else if (!isRenewed && minutesLeft < MINUTES)
    problems.push(
      `the credentials expire in ${Math.floor(minutesLeft)} minutes, and the rehearsal takes about ${MINUTES}; use --profile or --role, whose sessions are renewed, or sign in for longer`,
    );
}

export async function gatherFacts(
  aws: AwsRequests,
  stack: StackApi,
  credentials: ResolveCredentials,
  environment: Environment,
): Promise<Facts> {
  const asked = Date.now();
  const identity = await aws.send(
    queryRequest('sts', { Action: 'GetCallerIdentity', Version: '2011-06-15' }),
  );
  const { sessionToken, expiration } = await credentials();
  const halfSecond = 500;
  return {
    account: textIn(identity.text, 'Account') ?? 'unknown',
    clockOffsetMs: Number.isNaN(identity.at) ? 0 : identity.at + halfSecond - (asked + Date.now()) / 2,
    bootstrapVersion: await readBootstrap(aws),
    concurrency: await readConcurrency(aws),
    session: {
      isTemporary: sessionToken !== undefined,
      minutesLeft: expiration && (expiration.getTime() - Date.now()) / 60_000,
      isRenewed: Boolean(environment.AWS_PROFILE) || !environment.AWS_ACCESS_KEY_ID,
    },
    stackStatus: await stack.status(),
    missingTools: TOOLS.filter((name) => findPackage(name) === undefined),
  };
}

async function readBootstrap(aws: AwsRequests): Promise<Facts['bootstrapVersion']> {
  return unlessDenied(async () => {
    const { text } = await aws.send({
      service: 'ssm',
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AmazonSSM.GetParameter' },
      body: JSON.stringify({ Name: '/cdk-bootstrap/hnb659fds/version' }),
    });
    return Number(JSON.parse(text).Parameter.Value);
  }).catch((error: unknown) => {
    if (error instanceof AwsError && error.code === 'ParameterNotFound') return 'absent' as const;
    throw error;
  });
}

const readConcurrency = (aws: AwsRequests): Promise<Facts['concurrency']> =>
  unlessDenied(async () => {
    const { text } = await aws.send({
      service: 'lambda',
      method: 'GET',
      path: '/2016-08-19/account-settings/',
    });
    const { ConcurrentExecutions, UnreservedConcurrentExecutions } = JSON.parse(text).AccountLimit;
    return { limit: ConcurrentExecutions, unreserved: UnreservedConcurrentExecutions };
  });

async function unlessDenied<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AwsError && /AccessDenied/.test(error.code)) return undefined;
    throw error;
  }
}

export function findPackage(name: string): string | undefined {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')])
    try {
      return createRequire(from).resolve(`${name}/package.json`);
    } catch {
      // It may be in the other place.
    }
  return undefined;
}
