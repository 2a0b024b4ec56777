import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAppStack } from '../../lib/cdk/app-stack.ts';
import { rememberShards } from '../../lib/cdk/props/shard-memory.ts';
import { featureFlags, newApp, projectRoot, withoutValidation } from './support.ts';

withoutValidation();

type Context = Readonly<Record<string, unknown>>;
type Environment = Readonly<Record<string, string>>;

/** What the CLI tells an app of the account when it has credentials. */
const account = { CDK_DEFAULT_ACCOUNT: '123456789012', CDK_DEFAULT_REGION: 'eu-west-1' };
const shardsKey = 'leasehold-shards:account=123456789012:region=eu-west-1:Leasehold-Jobs';

let folder: string;
let contextFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-app-'));
  contextFile = join(folder, 'cdk.context.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const remembered = (): Context =>
  existsSync(contextFile) ? JSON.parse(readFileSync(contextFile, 'utf8')) : {};

/** Does what bin/app.ts does. */
function synth(context: Context = {}, environment: Environment = {}) {
  const stack = createAppStack(newApp({ ...remembered(), ...context }), environment);
  const template = Template.fromStack(stack);
  rememberShards([stack.jobs], contextFile);
  return { stack, template };
}

/** Runs bin/app.ts as the CDK CLI does, in a folder of its own. */
function runApp(context: Context = {}, environment: Environment = {}) {
  const { status, stderr } = spawnSync(process.execPath, [join(projectRoot, 'bin', 'app.ts')], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      CDK_VALIDATION: 'false',
      CDK_OUTDIR: join(folder, 'cdk.out'),
      CDK_CONTEXT_JSON: JSON.stringify({ ...featureFlags, 'aws:cdk:bundling-stacks': [], ...context }),
      ...environment,
    },
  });
  return { status, stderr };
}

const written = (name: string): boolean => existsSync(join(folder, 'cdk.out', name));

describe('an app of a user, made by createAppStack', () => {
  it('deploys its own module under its own name, with settings from context and environment', () => {
    const app = newApp({ 'leasehold:leaseMs': '60000' });
    const jobs = join(projectRoot, 'test', 'support', 'no-jobs.ts');
    const stack = createAppStack(app, { LEASEHOLD_LOG_LEVEL: 'WARN' }, { stackName: 'Mine', jobs });
    expect(stack.stackName).toBe('Mine');
    expect(stack.jobs.settings).toMatchObject({ leaseMs: 60_000, logLevel: 'WARN' });
    expect(() => createAppStack(newApp({ 'leasehold:leasMs': '1' }), {}, { jobs })).toThrow(/leaseMs/);
  });
});

describe('the app', () => {
  it('makes the stack for any account when nobody is signed in, and leaves no file behind', () => {
    expect(runApp()).toEqual({ status: 0, stderr: '' });
    expect(written('Leasehold.template.json')).toBe(true);
    expect(existsSync(contextFile)).toBe(false);
  });

  it('makes it for the account that is signed in, and remembers the shards', () => {
    expect(runApp({}, account)).toEqual({ status: 0, stderr: '' });
    expect(remembered()).toEqual({ [shardsKey]: 8 });
  });

  it('makes nothing from wrong settings, and says why', () => {
    const { status, stderr } = runApp({ 'leasehold:leaseMs': '30000', 'leasehold:heartbeatMs': '20000' });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/heartbeatMs \(20000\) must be at most a third of leaseMs \(30000\)/);
    expect(written('Leasehold.template.json')).toBe(false);
  });

  it('takes settings from the context and from the environment, and context wins', () => {
    const { stack } = synth(
      { 'leasehold:leaseMs': '60000', 'leasehold:logLevel': 'WARN', 'leasehold:stackName': 'Mail' },
      { LEASEHOLD_LEASE_MS: '90000', LEASEHOLD_MAX_ATTEMPTS: '7', LEASEHOLD_SERVICE_NAME: 'mail' },
    );
    expect(stack.stackName).toBe('Mail');
    expect(stack.jobs.serviceName).toBe('mail');
    expect(stack.jobs.settings).toMatchObject({
      leaseMs: 60_000,
      heartbeatMs: 20_000,
      logLevel: 'WARN',
      maxAttempts: 7,
    });
  });

  it('refers to the topic, the key and the bus that it is told of', () => {
    const { template, stack } = synth(
      {
        'leasehold:alarmTopicArn': 'arn:aws:sns:eu-west-1:123456789012:pager',
        'leasehold:encryptionKeyArn': 'arn:aws:kms:eu-west-1:123456789012:key/4711',
        'leasehold:eventBusName': 'jobs',
        'leasehold:removalPolicy': 'destroy',
      },
      account,
    );
    const text = JSON.stringify(template.toJSON());
    expect(text).toContain('"AlarmActions":["arn:aws:sns:eu-west-1:123456789012:pager"]');
    expect(text).toContain('"KmsMasterKeyId":"arn:aws:kms:eu-west-1:123456789012:key/4711"');
    expect(text).toContain('"DeletionProtectionEnabled":false');
    expect(stack.jobs.eventBus.eventBusName).toBe('jobs');
  });

  it.each([
    ['a misspelt setting', { 'leasehold:leesMs': 1 }, {}, /context 'leasehold:leesMs' is unknown.*'leaseMs'/],
    [
      'a misspelt variable',
      {},
      { LEASEHOLD_LEES_MS: '1' },
      /environment variable 'LEASEHOLD_LEES_MS' is unknown/,
    ],
    [
      'too many shards',
      { 'leasehold:shards': '300' },
      {},
      /setting 'shards' is 300; it must be a whole number/,
    ],
    [
      'words for numbers',
      { 'leasehold:shards': 'many' },
      {},
      /setting 'shards' is .*; it must be a whole number/,
    ],
    ['a time scale', { 'leasehold:timeScale': '10' }, {}, /'timeScale' is 10; a deployed stack takes only 1/],
    [
      'a removal policy that is none',
      { 'leasehold:removalPolicy': 'snapshot' },
      {},
      /context 'leasehold:removalPolicy' is 'snapshot'; it must be one of retain, destroy/,
    ],
  ])('refuses %s', (_, context, environment, message) => {
    expect(() => synth(context, environment)).toThrow(message);
  });
});

describe('shards', () => {
  it('are remembered for each account and region, next to what CDK remembers', () => {
    writeFileSync(contextFile, JSON.stringify({ 'availability-zones': ['a'] }));
    synth({ 'leasehold:shards': 16 }, account);
    expect(remembered()).toEqual({ 'availability-zones': ['a'], [shardsKey]: 16 });
  });

  it('may grow', () => {
    synth({ 'leasehold:shards': 16 }, account);
    synth({ 'leasehold:shards': 32 }, account);
    expect(remembered()).toEqual({ [shardsKey]: 32 });
  });

  it('may not shrink: synth fails with the reason and the way out', () => {
    synth({ 'leasehold:shards': 16 }, account);
    const shrink = () => synth({ 'leasehold:shards': 15 }, account);
    expect(shrink).toThrow(/setting 'shards' is 15, but 16 were deployed before: shards may only grow/);
    expect(shrink).toThrow(`remove '${shardsKey}' from cdk.context.json`);
    expect(remembered()).toEqual({ [shardsKey]: 16 });
  });

  it('of another account are another matter', () => {
    synth({ 'leasehold:shards': 16 }, account);
    expect(() => synth({}, { ...account, CDK_DEFAULT_ACCOUNT: '210987654321' })).not.toThrow();
  });

  it('that somebody edited into nonsense are not taken for a number', () => {
    writeFileSync(contextFile, JSON.stringify({ [shardsKey]: '16' }));
    expect(() => synth({}, account)).toThrow(/it must be the highest number of shards ever deployed/);
  });
});
