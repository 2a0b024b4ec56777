import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, expect, it } from 'vitest';
import { LeaseholdStack } from '../../lib/cdk/leasehold-stack.ts';
import { featureFlags, projectRoot, withoutValidation } from './support.ts';

withoutValidation();

const folder = mkdtempSync(join(tmpdir(), 'leasehold-hashes-'));
const jobs = join(projectRoot, 'test', 'support', 'no-jobs.ts');
afterAll(() => rmSync(folder, { recursive: true }));

/** The file names of the functions' code, which are their hashes. */
function codeIn(place: string): string[] {
  const app = new App({ context: featureFlags, outdir: join(folder, place), analyticsReporting: false });
  const template = Template.fromStack(new LeaseholdStack(app, 'Leasehold', { jobs: { jobs } }));
  return Object.values(template.findResources('AWS::Lambda::Function')).map(
    ({ Properties }) => Properties.Code.S3Key,
  );
}

it('gives all functions the same hashes, wherever the app is synthesized to, and their maps', () => {
  const [first = [], ...others] = ['a', 'b/much/deeper'].map(codeIn);
  expect(new Set(first)).toHaveLength(3);
  for (const other of others) expect(other).toEqual(first);
  const index = ['index.mjs', 'index.mjs.map'];
  const filesOf = (code: string) =>
    readdirSync(join(folder, 'a', `asset.${code.replace('.zip', '')}`)).sort();
  expect(first.map(filesOf)).toEqual([['cell.mjs', 'cell.mjs.map', ...index], index, index]);
});
