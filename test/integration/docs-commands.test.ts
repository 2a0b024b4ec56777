import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import { type CliSystem, createCliSystem } from '../support/cli.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';
import { snippets } from '../support/snippets.ts';

/** Every command in a block of the docs, without comments and with its continuation lines. */
const commands = snippets()
  .filter(({ language }) => language === 'sh')
  .flatMap(({ page, text }) =>
    text
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .map((line) => line.replace(/\s+#.*$/, '').trim())
      .filter((line) => line !== '')
      .map((line) => ({ page, line })),
  );

const OURS =
  /^(?:npx |npm run -s leasehold -- )?(?:leasehold )?(?=(?:send|ls|show|stats|revive|pause|resume|limit) ?)/;

/** Commands that another test runs, or that need an account of AWS. */
const ELSEWHERE: readonly (readonly [command: RegExp, where: string])[] = [
  [
    /^npx leasehold init |^cd my-jobs$|^npm (install|test|run (dev|check))\b/,
    'test/integration/tarball.deep.test.ts',
  ],
  [/^npm run synth$/, 'test/integration/tarball.deep.test.ts'],
  [/^npm (ci|start)$/, 'test/e2e/local-dev.test.ts'],
  [/^npm ci && npm test$/, '.ci/run'],
  [/^cd examples\/existing-app$|^npx cdk synth --quiet$/, 'test/cdk/existing-app.test.ts'],
  [/^MAIL_URL=\S+ npx leasehold dev /, 'test/integration/cli-dev.test.ts'],
  [/^(\w+=\S+ )?npx cdk (bootstrap|deploy|destroy)|^npm run deploy$|^aws |^export /, 'an account'],
  [/^npx leasehold work /, 'test/integration/cli-dev.test.ts'],
  [/^npx leasehold dev src\/jobs\.ts --pool /, 'test/e2e/local-pools.test.ts'],
  [/^npx leasehold console$/, 'an account'],
  [/^leasehold doctor$/, 'test/integration/cli-mend.test.ts'],
  [
    /^(npm run rehearse --|npx -p leasehold leasehold-rehearse) --account /,
    'test/unit/rehearsal/plan.test.ts',
  ],
];

/** A line as a shell would split it. */
const argumentsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

describe('commands that are not run here', () => {
  const others = commands.filter(({ line }) => !OURS.test(line));

  it.each(others)('$line ($page) is run by another test, or needs an account', ({ line }) => {
    const [, where] = ELSEWHERE.find(([command]) => command.test(line)) ?? [];
    expect(where, 'run it in a test, and say in which').toBeDefined();
    if (where !== 'an account')
      expect(existsSync(join(import.meta.dirname, '..', '..', where ?? '')), where).toBe(true);
  });
});

describeOnOneEngine('the commands of the docs', (engine) => {
  let system: CliSystem;
  beforeAll(async () => {
    system = await createCliSystem(engine);
    const claimed = await system.store.claim({ job: newJob('first'), owner: 'worker/1' });
    if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
    await system.store.complete(claimOf(claimed.job as RunningJob));
  });
  afterAll(() => system.close());

  it.each(commands.filter(({ line }) => OURS.test(line)))('$line ($page)', async ({ line }) => {
    const args = argumentsOf(line.replace(OURS, '')).map((each) =>
      /^(ID|<jobId>)$/.test(each) ? 'first' : each,
    );
    const { code, stderr } = await system.run(args);
    expect(code, stderr).toBe(0);
  });
});
