import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import { rememberShards } from '../../lib/cdk/props/shard-memory.ts';
import { featureFlags, newApp, projectRoot, someJobs, withoutValidation } from './support.ts';

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

/** Synthesizes as an app in this folder does, with these shards. */
function synth(shards?: number, env: Environment = { account: '123456789012', region: 'eu-west-1' }) {
  const stack = new LeaseholdStack(newApp(remembered()), 'Leasehold', {
    env,
    jobs: { jobs: someJobs, shards },
  });
  rememberShards([stack.jobs], contextFile);
}

/** Runs bin/app.ts as the CDK CLI does, in a folder of its own. */
function runApp(environment: Environment = {}) {
  const { status, stderr } = spawnSync(process.execPath, [join(projectRoot, 'bin', 'app.ts')], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      CDK_VALIDATION: 'false',
      CDK_OUTDIR: join(folder, 'cdk.out'),
      CDK_CONTEXT_JSON: JSON.stringify({ ...featureFlags, 'aws:cdk:bundling-stacks': [] }),
      ...environment,
    },
  });
  return { status, stderr };
}

describe('the app', () => {
  it('makes it for the account that is signed in, and remembers the shards', () => {
    expect(runApp(account).status).toBe(0);
    expect(remembered()).toEqual({ [shardsKey]: 8 });
  });

  it('makes it in a checkout that cannot be written, and says what was not kept', () => {
    mkdirSync(contextFile);
    const { status } = runApp(account);
    expect(status).toBe(0);
    const metadata = readFileSync(join(folder, 'cdk.out', 'Leasehold.metadata.json'), 'utf8');
    expect(metadata).toContain('the number of shards could not be kept');
  });
});

describe('shards', () => {
  it('are remembered for each account and region, next to what CDK remembers', () => {
    writeFileSync(contextFile, JSON.stringify({ 'availability-zones': ['a'] }));
    synth(16);
    expect(remembered()).toEqual({ 'availability-zones': ['a'], [shardsKey]: 16 });
  });

  it('may not shrink: synth fails with the reason and the way out', () => {
    synth(16);
    const shrink = () => synth(15);
    expect(shrink).toThrow(/setting 'shards' is 15, but 16 were deployed before: shards may only grow/);
    expect(shrink).toThrow(`remove '${shardsKey}' from cdk.context.json`);
    expect(remembered()).toEqual({ [shardsKey]: 16 });
  });

  it('that somebody edited into nonsense are not taken for a number', () => {
    writeFileSync(contextFile, JSON.stringify({ [shardsKey]: '16' }));
    expect(() => synth()).toThrow(/it must be the highest number of shards ever deployed/);
  });
});
