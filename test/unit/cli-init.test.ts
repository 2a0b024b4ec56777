import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectFiles } from '../../lib/tools/cli/init/project-files.ts';
import { runInProcess } from '../support/cli.ts';

const files = projectFiles('my-jobs', '^1.0.0');

it('writes a stack with the construct, in which every prop has a place', () => {
  expect(files['bin/app.ts']).toMatch(
    /class JobsStack extends Stack[\s\S]*new LeaseholdJobs\(this, 'Jobs', \{\n +jobs:/,
  );
});

it.each([
  ['my-jobs', 'MyJobs'],
  ['2nd.try', 'Jobs2ndTry'],
])('names the stack of %s %s, which begins with a letter', (name, stack) => {
  expect(projectFiles(name, '^1.0.0')['bin/app.ts']).toContain(`new JobsStack(new App(), '${stack}'`);
});

it('has the feature flags that today’s CDK recommends', () => {
  const file = createRequire(import.meta.url).resolve('aws-cdk-lib/recommended-feature-flags.json');
  const { context } = JSON.parse(files['cdk.json'] ?? '');
  expect(context).toEqual(JSON.parse(readFileSync(file, 'utf8')));
});

it('runs the worker as process 1 of a container, which alone gets SIGTERM', () => {
  expect(files.Dockerfile).toContain('CMD ["node_modules/.bin/leasehold", "work", "src/jobs.ts"]');
  expect(files['.dockerignore']).toMatch(/^node_modules$/m);
});

it('quotes a folder with spaces in the next command', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'leasehold-init-'));
  const { stdout } = await runInProcess(['init', 'my jobs'], { directory });
  rmSync(directory, { recursive: true });
  expect(stdout).toContain("  cd 'my jobs' && npm install");
});
