import type { Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { beforeAll, describe, expect, it } from 'vitest';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import { permissionsOf, statementsOf } from './policies.ts';
import { type Synthesized, someJobs, synthesize, synthesizeIn, withoutValidation } from './support.ts';

withoutValidation();

let standard: Synthesized;
beforeAll(() => {
  standard = synthesize();
});

const ownLogs = (name: string) => [`logs:CreateLogStream on ${name}Logs`, `logs:PutLogEvents on ${name}Logs`];

describe('the functions', () => {
  it('have no managed policy and no wildcard among their actions', () => {
    for (const { Properties } of Object.values(standard.template.findResources('AWS::IAM::Role')))
      expect(Properties).not.toHaveProperty('ManagedPolicyArns');
    const actions = statementsOf(standard.template).flatMap(({ actions }) => actions);
    expect(actions.length).toBeGreaterThan(10);
    for (const action of actions) expect(action).not.toContain('*');
  });

  it('write to their own logs only', () => {
    for (const name of ['Worker', 'Reaper', 'DeadLetter'])
      expect(permissionsOf(standard.template, new RegExp(name))).toEqual(
        expect.arrayContaining(ownLogs(name)),
      );
    expect(permissionsOf(standard.template, /./).filter((line) => line.startsWith('xray:'))).toEqual([]);
  });

  it('read the index of leases in the reaper alone, and the index of failures nowhere', () => {
    const everything = permissionsOf(standard.template, /./);
    expect(everything.filter((line) => line.includes('/index/'))).toEqual([
      'dynamodb:Query on Table/index/byLease',
    ]);
    expect(permissionsOf(standard.template, /Reaper/)).toContain('dynamodb:Query on Table/index/byLease');
  });

  it('never scan, delete or put a row', () => {
    expect(permissionsOf(standard.template, /./).join('\n')).not.toMatch(
      /Scan|DeleteItem|PutItem|BatchWrite/,
    );
  });
});

describe('grants', () => {
  const granted = (grant: (jobs: LeaseholdJobs, role: Role) => unknown): string[] => {
    const made = synthesizeIn((stack: Stack) => {
      const jobs = new LeaseholdJobs(stack, 'Jobs', { jobs: someJobs });
      grant(jobs, new Role(stack, 'Somebody', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') }));
      return jobs;
    });
    return permissionsOf(made.template, /Somebody/);
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
        'dynamodb:Query on Table/index/byLease',
        'sqs:GetQueueAttributes on DeadLetterQueue',
        'sqs:GetQueueAttributes on Queue',
      ]),
    );
    expect(lines.join('\n')).not.toMatch(/Update|Put|Delete|Send|Receive|Purge/);
  });

  it('let a process work and reap as the functions do, by batches as well', () => {
    const worker = permissionsOf(standard.template, /Worker/).filter((line) => !/^(logs|xray):/.test(line));
    const reaper = permissionsOf(standard.template, /Reaper/).filter((line) => !/^(logs|xray):/.test(line));
    expect(granted((jobs, role) => jobs.grants.work(role))).toEqual(
      [...worker, 'dynamodb:PartiQLInsert on Table', 'dynamodb:PartiQLUpdate on Table'].sort(),
    );
    // A reaper in a process watches, and wakes nobody.
    expect(granted((jobs, role) => jobs.grants.reap(role))).toEqual(
      reaper.filter((permission) => !permission.endsWith(' on WakeQueue')),
    );
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
