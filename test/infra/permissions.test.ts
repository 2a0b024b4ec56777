import type { Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { beforeAll, describe, expect, it } from 'vitest';
import { LeaseholdJobs } from '../../lib/infra/leasehold-jobs.ts';
import { flat, type Synthesized, synthesize, synthesizeIn, withoutValidation } from './support.ts';

withoutValidation();

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

const listed = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T]);

/** `action on resource`, for everything that the role whose id matches may do. */
function allowed({ template }: Synthesized, role: RegExp): string[] {
  const policies = Object.entries(template.findResources('AWS::IAM::Policy')).filter(([id]) => role.test(id));
  const statements: Statement[] = policies.flatMap(
    ([, { Properties }]) => Properties.PolicyDocument.Statement,
  );
  return statements
    .flatMap(({ Action, Resource }) =>
      listed(Action).flatMap((action) =>
        listed(flat(Resource)).map((resource) => `${action} on ${short(String(resource))}`),
      ),
    )
    .sort();
}

const short = (arn: string): string =>
  arn
    .replace(/<Jobs(\w+?)[0-9A-F]{8}\.Arn>/g, '$1')
    .replace('arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:event-bus/', 'bus ');

let standard: Synthesized;
beforeAll(() => {
  standard = synthesize();
});

const ownLogs = (name: string) => [
  `logs:CreateLogStream on ${name}Logs`,
  `logs:PutLogEvents on ${name}Logs`,
  'xray:PutTelemetryRecords on *',
  'xray:PutTraceSegments on *',
];

describe('the functions', () => {
  it('have no managed policy and no wildcard among their actions', () => {
    for (const { Properties } of Object.values(standard.template.findResources('AWS::IAM::Role')))
      expect(Properties).not.toHaveProperty('ManagedPolicyArns');
    const policies = Object.values(standard.template.findResources('AWS::IAM::Policy'));
    const actions = policies.flatMap(({ Properties }) =>
      (Properties.PolicyDocument.Statement as Statement[]).flatMap(({ Action }) => listed(Action)),
    );
    expect(actions.length).toBeGreaterThan(10);
    for (const action of actions) expect(action).not.toContain('*');
  });

  it('write to their own logs only', () => {
    for (const name of ['Worker', 'Reaper', 'DeadLetter'])
      expect(allowed(standard, new RegExp(name))).toEqual(expect.arrayContaining(ownLogs(name)));
  });

  it('read the index of leases in the reaper alone, and the index of failures nowhere', () => {
    const everything = allowed(standard, /./);
    expect(everything.filter((line) => line.includes('/index/'))).toEqual([
      'dynamodb:Query on Table/index/byLease',
    ]);
    expect(allowed(standard, /Reaper/)).toContain('dynamodb:Query on Table/index/byLease');
  });

  it('never scan, delete or put a row', () => {
    expect(allowed(standard, /./).join('\n')).not.toMatch(/Scan|DeleteItem|PutItem|BatchWrite/);
  });
});

describe('grants', () => {
  const granted = (grant: (jobs: LeaseholdJobs, role: Role) => unknown): string[] => {
    const made = synthesizeIn((stack: Stack) => {
      const jobs = new LeaseholdJobs(stack, 'Jobs');
      grant(jobs, new Role(stack, 'Somebody', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') }));
      return jobs;
    });
    return allowed(made, /Somebody/);
  };

  it('let a producer send, and nothing else', () => {
    expect(granted((jobs, role) => jobs.grants.produce(role))).toEqual([
      'sqs:GetQueueUrl on Queue',
      'sqs:SendMessage on Queue',
    ]);
  });

  it('let an observer read jobs, failures and queue depths, and change nothing', () => {
    const lines = granted((jobs, role) => jobs.grants.observe(role));
    expect(lines).toEqual(
      expect.arrayContaining([
        'dynamodb:GetItem on Table',
        'dynamodb:Query on Table/index/byFailure',
        'dynamodb:Query on Table/index/byLease',
        'sqs:GetQueueAttributes on DeadLetterQueue',
        'sqs:GetQueueAttributes on Queue',
      ]),
    );
    expect(lines.join('\n')).not.toMatch(/Update|Put|Delete|Send|Receive|Purge/);
  });

  it('let a process work and reap as the functions do, by batches as well', () => {
    const worker = allowed(standard, /Worker/).filter((line) => !/^(logs|xray):/.test(line));
    const reaper = allowed(standard, /Reaper/).filter((line) => !/^(logs|xray):/.test(line));
    expect(granted((jobs, role) => jobs.grants.work(role))).toEqual(
      [...worker, 'dynamodb:PartiQLInsert on Table', 'dynamodb:PartiQLUpdate on Table'].sort(),
    );
    expect(granted((jobs, role) => jobs.grants.reap(role))).toEqual(reaper);
  });

  it('let an operator also change jobs, send hints and empty the dead-letter queue', () => {
    const observer = granted((jobs, role) => jobs.grants.observe(role));
    const operator = granted((jobs, role) => jobs.grants.operate(role));
    expect(operator).toEqual(expect.arrayContaining(observer));
    expect(operator).toEqual(
      expect.arrayContaining([
        'dynamodb:UpdateItem on Table',
        'sqs:DeleteMessage on DeadLetterQueue',
        'sqs:ReceiveMessage on DeadLetterQueue',
        'sqs:SendMessage on Queue',
      ]),
    );
  });
});
