import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { granteeAccess } from '../../lib/cdk/access.ts';
import { settingNames } from '../../lib/settings/settings.ts';
import { metrics } from '../../lib/wire/metrics.ts';
import { flat, projectRoot, resourceOf, standard, synthesize, withoutValidation } from './support.ts';

withoutValidation();

const read = (file: string) => readFileSync(join(projectRoot, file), 'utf8');
const runbook = read('docs/operating/runbook.md');
const made = standard();

/** Everything in backticks outside of the fenced example. */
const quotes = [
  ...new Set([...runbook.replace(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)),
];

/** What AWS calls things, which nothing of ours can be held against. */
const OF_AWS = [
  ...['AccessDenied', 'KMSAccessDenied', 'DisabledException', 'Terminate', 'ERROR_CODE', 'ERROR_MESSAGE'],
  ...['AsyncEventsDropped', 'RecursiveInvocationsDropped', 'Task timed out', 'cdk diff', 'awslogs'],
];

describe('the runbook speaks only of what is there', () => {
  it('as to graphs', () => {
    const dashboard = made.jobs.dashboard;
    if (dashboard === undefined) throw new Error('there is no dashboard');
    const { widgets } = JSON.parse(String(flat(resourceOf(made, dashboard).Properties.DashboardBody)));
    const titles: string[] = widgets.map(({ properties }: { properties: { title?: string } }) =>
      String(properties.title).replace(/,.*| \(.*/, ''),
    );
    const graphs = [...runbook.matchAll(/[Gg]raph \*([^*]+)\*/g)].map(([, title]) => title);
    expect(graphs.length).toBeGreaterThan(4);
    for (const graph of graphs) expect(titles).toContain(graph);
  });

  it('as to props, settings and metrics', () => {
    const props = [...read('lib/cdk/props/leasehold-jobs-props.ts').matchAll(/^ {2}readonly (\w+)\??:/gm)];
    const settings = [...read('lib/cdk/props/setting-props.ts').matchAll(/^ {2}readonly (\w+)\??:/gm)];
    const known = new Set<string>([
      ...[...props, ...settings].map(([, name = '']) => name),
      ...[...settingNames, ...Object.keys(metrics), ...OF_AWS],
      ...Object.keys(granteeAccess).map((verb) => `grants.${verb}`),
      'byLease',
    ]);
    const names = quotes.flatMap((text) => /^([A-Za-z][\w.]*)(?:: [\w]+)?$/.exec(text)?.[1] ?? []);
    const constructs = made.jobs.node.findAll().map(({ node }) => node.id);
    const unknown = names.filter(
      (name) => ![...known, ...constructs, 'show', 'leasehold', 'leasehold.bad-message'].includes(name),
    );
    expect(unknown.filter((name) => !isLogged(name) && !/^nightly\./.test(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(30);
  });

  it('as to lines of the log', () => {
    const lines = quotes.filter(
      (text) => / /.test(text) && !/^(leasehold|aws|AWS\/|cdk|\w+: )/.test(text) && !OF_AWS.includes(text),
    );
    expect(lines.length).toBeGreaterThan(4);
    expect(lines.filter((line) => !isLogged(line))).toEqual([]);
  });

  it('as to permissions and their resources', () => {
    const actions = JSON.stringify(standard().template.toJSON());
    const named = quotes.filter((text) => /^(sqs|kms|dynamodb|lambda):\w+$/.test(text));
    expect(named.length).toBeGreaterThan(1);
    const withKey = read('lib/cdk/access.ts');
    for (const action of named) expect(actions + withKey).toContain(action);
  });
});

describe('the runbook is true to the template', () => {
  it('as to what keeps a paused reaper quiet, and what a restore needs', () => {
    const paused = synthesize({ reaperEnabled: false });
    const { DeadMan, ...others } = paused.jobs.alarms;
    expect(resourceOf(paused, DeadMan as never).Properties.ActionsEnabled).toBe(false);
    for (const alarm of Object.values(others))
      expect(resourceOf(paused, alarm).Properties.ActionsEnabled).not.toBe(false);
  });

  it('as to the concurrency that is to be kept for the reaper', () => {
    const [, kept] = /`reaperReservedConcurrency: (\d+)`/.exec(runbook) ?? [];
    const reserved = synthesize({ reaperReservedConcurrency: Number(kept) });
    expect(resourceOf(reserved, reserved.jobs.reaperFunction).Properties).toMatchObject({
      ReservedConcurrentExecutions: Number(kept),
    });
    expect(() => synthesize({ reaperReservedConcurrency: Number(kept) - 1 })).toThrow(/at least/);
  });
});

let sources: string | undefined;
/** Whether some code of ours says so; apostrophes are typed in two ways. */
function isLogged(text: string): boolean {
  sources ??= globSync('lib/{worker,reaper,protocol,aws}/**/*.ts', { cwd: projectRoot }).map(read).join('\n');
  return sources.replaceAll('’', "'").includes(text);
}
