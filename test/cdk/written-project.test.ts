import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, describe, it } from 'vitest';
import { projectFiles } from '../../lib/tools/cli/init/project-files.ts';
import { isDeep } from '../support/depth.ts';
import { projectRoot } from './support.ts';

// Below the repository, where `leasehold` means the sources.
mkdirSync(join(projectRoot, '.cache'), { recursive: true });
const folder = mkdtempSync(join(projectRoot, '.cache', 'written-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

function write(name: string, fargate: boolean): string {
  const home = join(folder, name);
  for (const [path, text] of Object.entries(projectFiles({ name, leasehold: '*', fargate }))) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  return home;
}

/** Others bundle its jobs module; this is about the project. */
const unbundled = isDeep ? {} : { CDK_CONTEXT_JSON: JSON.stringify({ 'aws:cdk:bundling-stacks': [] }) };

function node(home: string, ...args: readonly string[]): void {
  const { CDK_CONTEXT_JSON: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: home,
    encoding: 'utf8',
    env: { ...env, ...unbundled, CDK_OUTDIR: join(home, 'cdk.out'), CDK_VALIDATION: 'false' },
  });
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
}

/** With containers it has everything that it has without. */
const kinds = isDeep ? (['fargate', 'lambda'] as const) : (['fargate'] as const);

describe.each(kinds)('the project that init writes, on %s', (name) => {
  const fargate = name === 'fargate';
  it('type-checks and synthesizes', () => {
    const home = write(name, fargate);
    node(home, tsc, '-p', '.');
    node(home, 'bin/app.ts');
    const file = join(home, 'cdk.out', `${fargate ? 'Fargate' : 'Lambda'}.template.json`);
    const template = Template.fromJSON(JSON.parse(readFileSync(file, 'utf8')));
    template.resourceCountIs('AWS::ECS::Service', fargate ? 1 : 0);
    template.resourceCountIs('AWS::EC2::NatGateway', 0);
    if (fargate)
      template.hasResourceProperties('AWS::ECS::Service', {
        NetworkConfiguration: { AwsvpcConfiguration: { AssignPublicIp: 'ENABLED' } },
      });
  });
});
