import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** The parser that the CDK brings along. */
const { parse } = createRequire(createRequire(import.meta.url).resolve('aws-cdk-lib'))('yaml') as {
  parse(text: string): unknown;
};

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly permissions?: Readonly<Record<string, string>>;
        readonly strategy?: { readonly matrix: { readonly node: readonly number[] } };
        readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
      }
    >
  >;
}

const workflow = (name: string) => parse(read(`.github/workflows/${name}.yml`)) as Workflow;
const commandsOf = ({ jobs }: Workflow) =>
  Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = '' }) => run.trim().split('\n')));

describe('files for GitHub', () => {
  it.each(globSync('.github/**/*.yml', { cwd: root }))('%s is YAML', (file) => {
    expect(parse(read(file))).toBeTypeOf('object');
  });

  it('the tests run as the README says, on every Node that is supported', () => {
    const test = workflow('test');
    for (const command of ['npm ci', 'npm test']) {
      expect(read('README.md')).toContain(command);
      expect(commandsOf(test)).toContain(command);
    }
    const { engines } = JSON.parse(read('package.json'));
    const oldest = Number(/>=(\d+)/.exec(engines.node)?.[1]);
    expect(test.jobs.test?.strategy?.matrix.node).toEqual([oldest, 24]);
  });

  it('a release is tested before it is published, with provenance and a list of its packages', () => {
    const release = workflow('release');
    const commands = commandsOf(release);
    const publish = commands.findIndex((command) => command.startsWith('npm publish'));
    const test = commands.indexOf('npm run test:deep');
    expect(test).toBeGreaterThan(-1);
    expect(publish).toBeGreaterThan(test);
    expect(commands[publish]).toContain('--provenance');
    const released = commands.find((command) => command.startsWith('gh release create'));
    expect(released).toContain('leasehold.cdx.json');
    expect(commands).toContainEqual(expect.stringMatching(/^npm sbom .* > .*leasehold\.cdx\.json"$/));
    expect(release.jobs.publish?.permissions).toMatchObject({ 'id-token': 'write' });
    expect(release.on).toEqual({ push: { tags: ['v*'] } });
  });

  it.each(['test', 'release'])(
    '%s runs only scripts that exist, and may only read unless a job says more',
    (name) => {
      const { scripts } = JSON.parse(read('package.json'));
      const named = commandsOf(workflow(name)).flatMap((command) => {
        const [, script] = command.match(/^npm (?:run )?(test|[\w:]+)\b/) ?? [];
        return script === undefined ||
          ['ci', 'publish', 'exec', 'pkg', 'pack', 'init', 'install', 'sbom'].includes(script)
          ? []
          : [script];
      });
      expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
      expect(workflow(name).permissions).toEqual({ contents: 'read' });
    },
  );
});
