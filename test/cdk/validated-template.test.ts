import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, Stack, Validations } from 'aws-cdk-lib';
import { LambdaDeploymentConfig } from 'aws-cdk-lib/aws-codedeploy';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks } from 'cdk-nag';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import { fargate, lambda } from '../../lib/cdk/pools/compute.ts';
import { newApp, someEnv, someJobs } from './support.ts';

// The one suite in which aws-cdk-lib's own validation of templates stays on.

afterEach(() => vi.restoreAllMocks());

/** What is taken as it is, with its reason. */
const acknowledged = [
  ['Leasehold/Jobs', 'HIPAA.Security-IAMNoInlinePolicy', /for one role/],
  ['Leasehold/Jobs', 'HIPAA.Security-LambdaConcurrency', /limits the worker/],
  ['Leasehold/Jobs', 'HIPAA.Security-LambdaDLQ', /keep what fails/],
  ['Leasehold/Jobs', 'NIST.800.53.R5-IAMNoInlinePolicy', /for one role/],
  ['Leasehold/Jobs', 'NIST.800.53.R5-LambdaConcurrency', /limits the worker/],
  ['Leasehold/Jobs', 'NIST.800.53.R5-LambdaDLQ', /keep what fails/],
  ['Leasehold/Jobs/DeadLetter/Role', 'AwsSolutions-IAM5[Resource::*]', /take no resource/],
  ['Leasehold/Jobs/Pool-mail/Worker/Role', 'AwsSolutions-IAM5[Resource::*]', /take no resource/],
  ['Leasehold/Jobs/Pool-render/Task', 'AwsSolutions-ECS2', /secrets belong/],
  [
    'Leasehold/Jobs/Pool-render/Task',
    'AwsSolutions-IAM5[Resource::arn:aws:ecs:eu-west-1:123456789012:task/<JobsPoolrenderCluster16C2DC6E>/*]',
    /protects itself/,
  ],
  ['Leasehold/Jobs/Reaper/Role', 'AwsSolutions-IAM5[Resource::*]', /take no resource/],
  ['Leasehold/Jobs/WakeQueue', 'AwsSolutions-SQS3', /makes up for a lost wake/],
  [
    'Leasehold/Jobs/Worker/Function/Live/Deployment/ServiceRole',
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]',
    /for CodeDeploy/,
  ],
  ['Leasehold/Jobs/Worker/Role', 'AwsSolutions-IAM5[Resource::*]', /take no resource/],
] as const;

/** An app with everything that a prop can add, which packs of cdk-nag look at. What it borrows is not theirs to judge. */
function checkedApp(): App {
  const app = newApp();
  const other = new Stack(app, 'Other', { env: someEnv });
  const key = new Key(other, 'Key');
  const vpc = new Vpc(other, 'Vpc');
  const image = ContainerImage.fromRegistry('worker');
  new LeaseholdStack(app, 'Leasehold', {
    env: someEnv,
    jobs: {
      ...{ jobs: someJobs, tracing: true, reaperReservedConcurrency: 6 },
      ...{ encryptionKey: key, logEncryptionKey: key, environmentEncryptionKey: key },
      vpc,
      pools: {
        render: {
          types: ['render'],
          compute: fargate({ image, max: 20, vpc, spot: true, protectMinutes: 60 }),
        },
        mail: { types: ['mail'], compute: lambda({ max: 5 }) },
        own: { types: ['index'] },
      },
      alarmTopic: new Topic(other, 'Topic'),
      workerDeployment: LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES,
    },
  });
  Validations.of(app).addPlugins(
    new AwsSolutionsChecks(app),
    new HIPAASecurityChecks(app),
    new NIST80053R5Checks(app),
  );
  return app;
}

/** Synthesizes it, and tells what was found in the system itself. */
function findingsIn(app: App): string[] {
  try {
    app.synth();
  } catch {
    // Thrown for what was found.
  }
  return findings(app).filter((finding) => finding.startsWith('Leasehold/'));
}

interface Report {
  readonly pluginReports: readonly {
    readonly pluginName: string;
    readonly violations: readonly {
      readonly ruleName: string;
      readonly violatingConstructs: readonly { readonly constructPath: string }[];
    }[];
  }[];
}

function findings(app: App): string[] {
  const report: Report = JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8'));
  return report.pluginReports.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${constructPath} ${ruleName}`),
    ),
  );
}

describe('the template', () => {
  it('passes CloudFormation’s own rules', () => {
    const app = newApp();
    new LeaseholdStack(app, 'Leasehold', { jobs: { jobs: someJobs } });
    expect(() => app.synth()).not.toThrow();
  });

  it('passes the packs for AWS Solutions, HIPAA and NIST 800-53', () => {
    expect(findingsIn(checkedApp())).toEqual([]);
  });

  it('takes as it is only what is named here, each for a reason', () => {
    const given: [path: string, id: string, reason: string][] = [];
    vi.spyOn(Validations.prototype, 'acknowledge').mockImplementation(function (this: unknown, ...all) {
      const { scope } = this as { readonly scope: { readonly node: { readonly path: string } } };
      if (!scope.node.path.startsWith('Other'))
        for (const { id, reason } of all) given.push([scope.node.path, id, reason]);
    });
    const found = findingsIn(checkedApp());
    expect(given.map(([path, id]) => [path, id]).sort()).toEqual(
      acknowledged.map(([path, id]) => [path, id]),
    );
    for (const [path, id, reason] of given)
      expect(reason).toMatch(
        acknowledged.find((known) => known[0] === path && known[1] === id)?.[2] ?? 'none',
      );
    // Each acknowledgement is still needed, and covers all that the packs find.
    const covers = acknowledged.map(([path, id]) => new RegExp(`^${path}.* ${literal(id)}$`));
    for (const cover of covers) expect(found).toContainEqual(expect.stringMatching(cover));
    expect(found.filter((finding) => !covers.some((cover) => cover.test(finding)))).toEqual([]);
  });
});

const literal = (text: string): string => text.replace(/[[\]*]/g, '\\$&');
