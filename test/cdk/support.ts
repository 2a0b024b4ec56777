import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack, type StackProps } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import { LeaseholdJobs } from '../../lib/cdk/leasehold-jobs.ts';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';

export const projectRoot = join(import.meta.dirname, '..', '..');

/** The feature flags that `cdk synth` reads from cdk.json: a bare `new App()` would make another template. */
export const featureFlags: Readonly<Record<string, unknown>> = JSON.parse(
  readFileSync(join(projectRoot, 'cdk.json'), 'utf8'),
).context;

/** Skips esbuild: most tests are about the template, not the code in it. */
const withoutBundles = { 'aws:cdk:bundling-stacks': [] };

export const newApp = (context: Readonly<Record<string, unknown>> = {}): App =>
  new App({ context: { ...featureFlags, ...withoutBundles, ...context }, analyticsReporting: false });

/** Validation takes ten times as long as the template; one suite leaves it on. */
export const withoutValidation = (): void => {
  process.env.CDK_VALIDATION = 'false';
};

export interface Synthesized {
  readonly stack: Stack;
  readonly jobs: LeaseholdJobs;
  readonly template: Template;
}

/** The jobs module of the tests. */
export const someJobs = join(projectRoot, 'examples', 'registry.ts');

/** The template of a stack with these props. */
export function synthesize(
  props: LeaseholdJobsProps = {},
  options: { readonly context?: Readonly<Record<string, unknown>>; readonly app?: App } = {},
): Synthesized {
  const stack = new LeaseholdStack(options.app ?? newApp(options.context), 'Leasehold', {
    jobs: { jobs: someJobs, ...props },
  });
  return { stack, jobs: stack.jobs, template: Template.fromStack(stack) };
}

/** A key of the customer's, made elsewhere. */
export const SOME_KEY = 'arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555';
export const someKey = (app: App) =>
  Key.fromKeyArn(new Stack(app, 'Keys', { env: someEnv }), 'Key', SOME_KEY);

export const someEnv = { account: '123456789012', region: 'eu-west-1' } as const;

/** A stack of somebody else's in which the construct is used, with what `build` makes. */
export function synthesizeIn(build: (stack: Stack) => LeaseholdJobs, props: StackProps = {}): Synthesized {
  const stack = new Stack(newApp(), 'Shop', props);
  const jobs = build(stack);
  return { stack, jobs, template: Template.fromStack(stack) };
}

/** The construct in a stack of this account, with props that need something of the stack, after `act`. */
export const synthesizeJobs = (
  propsOf: (stack: Stack) => LeaseholdJobsProps,
  act: (jobs: LeaseholdJobs, stack: Stack) => void = () => {},
): Synthesized =>
  synthesizeIn(
    (stack) => {
      const jobs = new LeaseholdJobs(stack, 'Jobs', { jobs: someJobs, ...propsOf(stack) });
      act(jobs, stack);
      return jobs;
    },
    { env: someEnv },
  );

let standardStack: Synthesized | undefined;
/** The stack with the defaults, once for all suites of a process: they only look. */
export const standard = (): Synthesized => {
  standardStack ??= synthesize();
  return standardStack;
};

/** Where containers work, and no function. */
export const synthesizeWithoutWorker = (): Synthesized =>
  synthesizeJobs(() => ({ jobs: undefined, worker: 'none' }));

export interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly [other: string]: unknown;
}

/** The resource that a child of the construct became. */
export function resourceOf(
  { stack, template }: Synthesized,
  child: { readonly node: { readonly defaultChild?: unknown } },
): Resource {
  const resource = child.node.defaultChild as { readonly logicalId: string } | undefined;
  if (resource === undefined) throw new Error('the construct has no resource of its own');
  const logicalId = stack.resolve(resource.logicalId) as string;
  const found = template.toJSON().Resources[logicalId];
  if (found === undefined) throw new Error(`${logicalId} is not in the template`);
  return found;
}

/** Replaces what is only known at deployment: references by `<LogicalId.Attribute>`, joins by their text. */
export function flat(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(flat);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (only !== undefined && entries.length === 1) {
    const [key, inner] = only;
    if (key === 'Ref') return `<${inner}>`;
    if (key === 'Fn::GetAtt') return `<${(inner as string[]).join('.')}>`;
    if (key === 'Fn::Join') {
      const [separator, parts] = inner as [string, unknown[]];
      return parts.map(flat).join(separator);
    }
  }
  return Object.fromEntries(entries.map(([key, inner]) => [key, flat(inner)]));
}
