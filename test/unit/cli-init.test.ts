import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectFiles } from '../../lib/tools/cli/init/project-files.ts';
import { runInProcess } from '../support/cli.ts';

const project = (options: { readonly name?: string; readonly fargate?: boolean } = {}) =>
  projectFiles({ name: 'my-jobs', leasehold: '^1.0.0', ...options });
const files = project();

it.each([
  ['my-jobs', 'MyJobs'],
  ['2nd.try', 'Jobs2ndTry'],
])('names the stack of %s %s, which begins with a letter', (name, stack) => {
  expect(project({ name })['bin/app.ts']).toContain(`new JobsStack(new App(), '${stack}'`);
});

it('has the feature flags that today’s CDK recommends', () => {
  const file = createRequire(import.meta.url).resolve('aws-cdk-lib/recommended-feature-flags.json');
  const { context } = JSON.parse(files['cdk.json'] ?? '');
  expect(context).toEqual(JSON.parse(readFileSync(file, 'utf8')));
});

describe('a project with --fargate', () => {
  const made = project({ fargate: true });

  it('alone has a Dockerfile, whose worker is process 1, which alone gets SIGTERM', () => {
    expect(files).not.toHaveProperty('Dockerfile');
    expect(made.Dockerfile).toContain('CMD ["node_modules/.bin/leasehold", "work", "src/jobs.ts"]');
    expect(made['.dockerignore']).toMatch(/^node_modules$/m);
  });

  it('runs in dev what it deploys: the same types in the same pool', () => {
    const { scripts } = JSON.parse(made['package.json'] ?? '');
    expect(scripts.dev).toBe('leasehold dev src/jobs.ts --pool heavy=fargate:count');
    expect(made['bin/app.ts']).toMatch(/heavy: \{\s+types: \['count'\],\s+compute: fargate\(/);
  });
});

it('quotes a folder with spaces in the next command', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'leasehold-init-'));
  const { stdout } = await runInProcess(['init', 'my jobs'], { directory });
  rmSync(directory, { recursive: true });
  expect(stdout).toContain("  cd 'my jobs' && npm install");
});
