import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import { settingNames } from '../../lib/settings/settings.ts';
import { settingVariable } from '../../lib/wire/environment.ts';
import { newApp, someJobs } from './support.ts';

// The one suite in which aws-cdk-lib's own validation of templates stays on.

afterEach(() => vi.restoreAllMocks());

/** What is taken as it is, with its reason. */
const acknowledged = [
  ['Leasehold/Jobs/DeadLetter/Role', 'AwsSolutions-IAM5[Resource::*]', /take no resource/],
  ['Leasehold/Jobs/Reaper/Role', 'AwsSolutions-IAM5[Resource::*]', /take no resource/],
  ['Leasehold/Jobs/WakeQueue', 'AwsSolutions-SQS3', /made good by the schedule/],
  ['Leasehold/Jobs/Worker/Role', 'AwsSolutions-IAM5[Resource::*]', /take no resource/],
] as const;

/** An app that cdk-nag's AwsSolutions pack looks at. */
function checkedApp(): App {
  const app = newApp();
  new LeaseholdStack(app, 'Leasehold', {
    jobs: { jobs: someJobs, tracing: true, dashboard: true, moreAlarms: true },
  });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return app;
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
  it('passes CloudFormation’s own rules and the AwsSolutions pack', () => {
    const app = checkedApp();
    expect(() => app.synth()).not.toThrow();
    expect(findings(app)).toEqual([]);
  });

  it('takes as it is only what is named here, each for a reason', () => {
    const given: [path: string, id: string, reason: string][] = [];
    vi.spyOn(Validations.prototype, 'acknowledge').mockImplementation(function (this: unknown, ...all) {
      const { scope } = this as { readonly scope: { readonly node: { readonly path: string } } };
      for (const { id, reason } of all) given.push([scope.node.path, id, reason]);
    });
    const app = checkedApp();
    expect(() => app.synth()).toThrow(/AwsSolutions/);
    expect(given.map(([path, id]) => [path, id]).sort()).toEqual(
      acknowledged.map(([path, id]) => [path, id]),
    );
    for (const [path, , reason] of given)
      expect(reason).toMatch(acknowledged.find(([known]) => known === path)?.[2] ?? 'no reason known');
    // Each acknowledgement is still needed: without it, the pack finds exactly these.
    expect(findings(app)).toHaveLength(acknowledged.length);
    for (const [path, id] of acknowledged)
      expect(findings(app)).toContainEqual(expect.stringMatching(`^${path}.* ${literal(id)}$`));
  });

  it('is the one that was last looked at', () => {
    const template = Template.fromStack(
      new LeaseholdStack(newApp(), 'Leasehold', { jobs: { jobs: someJobs } }),
    ).toJSON();
    expect(scrubbed(template)).toMatchSnapshot();
  });
});

const literal = (text: string): string => text.replace(/[[\]*]/g, '\\$&');

const settingVariables = new Set(settingNames.map(settingVariable));

/** Hashes of code change with every edit, and the settings are another suite's subject: neither is about the template. */
const scrubbed = (template: object): unknown =>
  JSON.parse(JSON.stringify(template).replace(/[0-9a-f]{64}\.zip/g, '<code>.zip'), (key, value) =>
    settingVariables.has(key) ? undefined : value,
  );
