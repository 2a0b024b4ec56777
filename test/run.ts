import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { availableEngines, noEngineMessage } from '../lib/tools/dev/engines/dynamodb-engine.ts';

/** The part of vitest's JSON report that is counted. */
type Report = {
  readonly testResults: readonly FileReport[];
};
type FileReport = {
  readonly name: string;
  readonly status: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly assertionResults: readonly { readonly status: string }[];
};
type Step = {
  readonly name: string;
  readonly ok: boolean;
  readonly ms: number;
  /** What a quiet one said. */
  readonly output: string;
};
type Totals = { readonly passed: number; readonly failed: number; readonly skipped: number };

const root = join(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'leasehold-test-'));
const reportFile = join(scratch, 'report.json');

async function step(
  name: string,
  command: string,
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly isQuiet?: boolean } = {},
): Promise<Step> {
  console.log(`— ${name}: ${command} ${args.join(' ')}`);
  const from = performance.now();
  const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  const child = spawn(command, args, {
    cwd: root,
    stdio: options.isQuiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    env: { ...process.env, ...options.env, PATH: path },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  const status = await once(child, 'close').catch((error: Error) => {
    console.error(`${name} could not be run: ${error.message}`);
    return [undefined];
  });
  return { name, ok: status[0] === 0, ms: performance.now() - from, output };
}

/** What the last run found: half of a check is to read again what has not changed since. */
const knownTypes = join(root, 'node_modules', '.cache', 'types.tsbuildinfo');

/** What they find is told at the end: they run beside the tests, whose lines would bury it. */
const checks = (): Promise<Step[]> =>
  Promise.all([
    step('lint', 'biome', ['check', '.'], { isQuiet: true }),
    step('dead code', 'knip', [], { isQuiet: true }),
    step('types', 'tsc', ['--noEmit', '--incremental', '--tsBuildInfoFile', knownTypes], { isQuiet: true }),
    // The console's page runs in a browser: it has types of its own.
    step('page', 'tsc', ['--noEmit', '-p', 'lib/tools/console/page'], { isQuiet: true }),
  ]);

const coverage = [
  ...['--coverage', '--coverage.reporter=text', `--coverage.reportsDirectory=${join(scratch, 'coverage')}`],
  ...['--coverage.include=lib/protocol/**/*.ts', '--coverage.include=lib/aws/dynamodb/**/*.ts'],
];

function vitest(filters: readonly string[], deep: boolean): Promise<Step> {
  const args = [
    'run',
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`],
    ...(deep && filters.length === 0 ? coverage : filters),
  ];
  const env = {
    // Whatever suites leave in the folder for temporary files, such as synthesised stacks, goes with the scratch folder.
    TMPDIR: scratch,
    // Neither do the runner's own processes and threads need to compile the SDK each time (vitest.config.ts).
    NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
    TEST_DEEP: deep ? '1' : undefined,
  };
  return step('tests', 'vitest', args, { env });
}

/** Sums the report up; a file that failed before any of its tests did counts as one failure. */
function total(report: Report): Totals {
  const statuses = report.testResults.flatMap(({ status, assertionResults }) => {
    const tests = assertionResults.map((test) => test.status);
    return status === 'failed' && !tests.includes('failed') ? ['failed', ...tests] : tests;
  });
  const passed = statuses.filter((status) => status === 'passed').length;
  const failed = statuses.filter((status) => status === 'failed').length;
  return { passed, failed, skipped: statuses.length - passed - failed };
}

/** What each suite took, all files added up, and which of them took longest: `npm test` has a budget (CONTRIBUTING.md). */
function tellTimes(report: Report): void {
  const seconds = ({ startTime, endTime }: FileReport) => (endTime - startTime) / 1000;
  const pathOf = ({ name }: FileReport) => relative(join(root, 'test'), name).split(sep);
  const suites = Object.entries(Object.groupBy(report.testResults, (file) => pathOf(file)[0] ?? ''));
  for (const [suite, files = []] of suites.toSorted()) {
    const sum = files.reduce((all, file) => all + seconds(file), 0);
    const slowest = files.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, 3);
    const told = slowest.map((file) => `${pathOf(file).slice(1).join('/')} ${seconds(file).toFixed(1)}`);
    console.log(
      `${suite.padEnd(11)} ${sum.toFixed(1).padStart(6)} s in ${files.length} files: ${told.join(', ')} …`,
    );
  }
}

const readReport = (): Report =>
  existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : { testResults: [] };

async function warnWithoutEngine(): Promise<void> {
  const engines = await availableEngines();
  const running = engines.flatMap((each) => (each.available ? [each.engine] : []));
  if (running.length === 0) console.error(noEngineMessage(engines));
  else console.log(`DynamoDB engines: ${running.join(', ')}.`);
}

const { values, positionals: filters } = parseArgs({
  options: { deep: { type: 'boolean', default: false } },
  allowPositionals: true,
});
try {
  await warnWithoutEngine();
  // Beside the tests: vitest leaves a core idle while it starts.
  const steps = (await Promise.all([checks(), vitest(filters, values.deep)])).flat();
  const report = readReport();
  const { passed, failed, skipped } = total(report);
  for (const { name, ok, output } of steps)
    if (!ok && output !== '') console.error(`\n— ${name}:\n${output}`);
  console.log();
  tellTimes(report);
  console.log();
  for (const { name, ok, ms } of steps) {
    console.log(`${name.padEnd(9)} ${ok ? 'ok    ' : 'FAILED'} ${(ms / 1000).toFixed(1).padStart(6)} s`);
  }
  if (passed + failed === 0) console.error('No test ran.');
  const ok = steps.every((each) => each.ok) && failed === 0 && passed > 0;
  process.exitCode = ok ? 0 : 1;
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
