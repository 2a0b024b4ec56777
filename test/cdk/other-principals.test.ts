import { Duration } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { Billing, Capacity } from 'aws-cdk-lib/aws-dynamodb';
import { AccountPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, it } from 'vitest';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import { statementsOf } from './policies.ts';
import { resourceOf, type Synthesized, synthesize, synthesizeJobs, withoutValidation } from './support.ts';

withoutValidation();

const events = new ServicePrincipal('events.amazonaws.com');

const queuePolicies = (from: Synthesized) =>
  Object.values(from.template.findResources('AWS::SQS::QueuePolicy')).flatMap(
    ({ Properties }) => Properties.PolicyDocument.Statement,
  );

describe('grants', () => {
  it.each([
    ['a service', events, { Service: 'events.amazonaws.com' }],
    ['another account', new AccountPrincipal('210987654321'), { AWS: expect.anything() }],
  ])('let %s send jobs, by the policy of the queue', (_, principal, shown) => {
    const made = synthesizeJobs(
      () => ({}),
      (jobs) => jobs.grants.produce(principal),
    );
    expect(queuePolicies(made)).toContainEqual(
      expect.objectContaining({
        Effect: 'Allow',
        Principal: shown,
        Action: expect.arrayContaining(['sqs:SendMessage', 'sqs:GetQueueUrl']),
      }),
    );
  });

  const OTHER_ROLE = 'arn:aws:iam::210987654321:role/producer';
  const withOtherRole = (verb: 'produce' | 'work', props: LeaseholdJobsProps = {}) =>
    synthesizeJobs(
      () => props,
      (jobs, stack) => jobs.grants[verb](Role.fromRoleArn(stack, 'Other', OTHER_ROLE)),
    );

  it('let a role of another account send jobs, and nothing more', () => {
    expect(queuePolicies(withOtherRole('produce'))).toContainEqual(
      expect.objectContaining({ Effect: 'Allow', Principal: { AWS: OTHER_ROLE } }),
    );
    expect(() => withOtherRole('work')).toThrow(/cannot be given access to 'table'/);
  });

  it.each(['work', 'reap', 'observe', 'operate'] as const)(
    'refuse to let a service %s, and say what works',
    (verb) => {
      expect(() =>
        synthesizeJobs(
          () => ({}),
          (jobs) => jobs.grants[verb](events),
        ),
      ).toThrow(/cannot be given access to 'table'.*Grant a role of this account/);
    },
  );
});

describe('a key of the customer’s', () => {
  /** What each request needs of the key: the caller of DynamoDB and SQS is the one whom KMS asks about. */
  const needed = (action: string): readonly string[] => {
    if (/^sqs:(Send)/.test(action)) return ['kms:GenerateDataKey', 'kms:Decrypt'];
    if (/^sqs:Receive/.test(action)) return ['kms:Decrypt'];
    return /^dynamodb:(GetItem|UpdateItem|Query|PartiQL|BatchGet|Scan)/.test(action)
      ? ['kms:Decrypt', 'kms:Encrypt', 'kms:DescribeKey']
      : [];
  };

  it.each([/Worker/, /Reaper/, /DeadLetter/, /Somebody/])('may be used by %s for all that it does', (who) => {
    const assumedBy = new ServicePrincipal('ec2.amazonaws.com');
    const made = synthesizeJobs(
      (stack) => ({ encryptionKey: new Key(stack, 'Key') }),
      (jobs, stack) => jobs.grants.operate(new Role(stack, 'Somebody', { assumedBy })),
    );
    const actions = statementsOf(made.template, who).flatMap((statement) => statement.actions);
    expect(actions.some((action) => needed(action).length > 0)).toBe(true);
    for (const action of actions) expect(actions).toEqual(expect.arrayContaining([...needed(action)]));
  });
});

describe('what a load asks of table and function', () => {
  it('is warm throughput, twice as much for each index', () => {
    const made = synthesize({ warmThroughput: { writeUnitsPerSecond: 10_000, readUnitsPerSecond: 12_000 } });
    const { Properties } = resourceOf(made, made.jobs.table);
    expect(Properties.WarmThroughput).toEqual({ WriteUnitsPerSecond: 10_000, ReadUnitsPerSecond: 12_000 });
    const WarmThroughput = { WriteUnitsPerSecond: 20_000, ReadUnitsPerSecond: 12_000 };
    expect(Properties.GlobalSecondaryIndexes).toEqual(
      ['byLease', 'byWait'].map((IndexName) => expect.objectContaining({ IndexName, WarmThroughput })),
    );
  });

  it('is more partitions than a new index has, where the load is there from the first minute', () => {
    const warnings = (props: Parameters<typeof synthesize>[0]) => {
      const { stack } = synthesize(props);
      return Annotations.fromStack(stack)
        .findWarning('*', Match.stringLikeRegexp('from its first minute'))
        .map(({ entry }) => String(entry.data));
    };
    expect(warnings({})).toEqual([]);
    const load = { maxRunning: 10_000, shards: 8 };
    const [warning = ''] = warnings(load);
    expect(warning).toContain('maxRunning (10000) and maxStartsPerSecond (100) mean 4200 index write units');
    const [, shards, units] =
      /set shards to (\d+) and warmThroughput to { writeUnitsPerSecond: (\d+) }/.exec(warning) ?? [];
    const mended = { shards: Number(shards), warmThroughput: { writeUnitsPerSecond: Number(units) } };
    expect(warnings({ ...load, ...mended })).toEqual([]);
  });

  it.each([
    ['more shards', { maxStartsPerSecond: 10_000 }, /set shards to 24 or more/],
    ['a warm index', { maxStartsPerSecond: 1000 }, /set shards to \d+ and warmThroughput/],
    [
      'a higher quota',
      { maxStartsPerSecond: 21_000, shards: 64 },
      /42400 of the index; an account has 40000/,
    ],
    [
      'more invocations',
      { maxStartsPerSecond: 2000 },
      /50 concurrent invocations .* start at most 1250 jobs/,
    ],
    [
      'more executions',
      { maxStartsPerSecond: 20_000, shards: 64, workerConcurrency: 1000 },
      /means 20000 invocations a second.* Raise the quota 'Concurrent executions'/,
    ],
  ])('is %s for many starts of short jobs', (_, props, text) => {
    const told = () => {
      const { stack } = synthesize(props);
      return Annotations.fromStack(stack)
        .findWarning('*', Match.anyValue())
        .map(({ entry }) => String(entry.data))
        .join('\n');
    };
    if (_ === 'more shards') expect(told).toThrow(text);
    else expect(told()).toMatch(text);
  });

  it.each([
    ['a maximum', Billing.onDemand({ maxWriteRequestUnits: 50 })],
    [
      'provisioned capacity',
      Billing.provisioned({
        readCapacity: Capacity.fixed(10),
        writeCapacity: Capacity.autoscaled({ maxCapacity: 50 }),
      }),
    ],
  ])('is not %s below what the load takes', (_, billing) => {
    expect(() => synthesize({ billing, maxRunning: 1000 })).toThrow(
      /maxRunning \(1000\) and maxStartsPerSecond \(100\) mean 400 write units a second of the table, and 'billing' allows 50\. Raise the maximum write units to 1200 or more, lower maxRunning/,
    );
    expect(() => synthesize({ billing, maxRunning: 100, maxStartsPerSecond: 5 })).not.toThrow();
  });

  it('is no managed instance, where invocations share a process', () => {
    expect(() =>
      synthesizeJobs(
        () => ({ functionTimeout: Duration.minutes(1) }),
        (jobs) => {
          (jobs.workerFunction.node.defaultChild as CfnFunction).capacityProviderConfig = {
            lambdaManagedInstancesCapacityProviderConfig: { capacityProviderArn: 'arn:aws:lambda:::cp' },
          };
        },
      ),
    ).toThrow(/Managed Instances are refused/);
  });
});
