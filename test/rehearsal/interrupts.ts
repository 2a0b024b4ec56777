import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { STACK } from '../../rehearsal/plan.ts';
import type { Emulator } from './emulator.ts';
import { startExpiringProxy } from './expiring-proxy.ts';
import { step } from './step.ts';

const ACCOUNT = '000000000000';
const REGION = 'eu-west-1';
const COMMAND = `aws cloudformation delete-stack --stack-name ${STACK} --region ${REGION}`;
const WITHIN_MS = 300_000;

/** The steps that the emulator can begin, by what `▸ name` announces. */
const STEPS = [
  ...['preflight', 'deploy', 'first', 'pool', 'lapses', 'chain', 'exit', 'index'],
  ...['metrics', 'throttle', 'alarms', 'contract', 'delete'],
];

/** Runs the account rehearsal in the emulator to its end. */
export async function runEmulated(emulator: Emulator): Promise<void> {
  const run = startRehearsal(emulator.environment, undefined);
  const code = await run.ended;
  console.log(run.output().replaceAll(/^/gm, '    '));
  rmSync(run.folder, { recursive: true, force: true });
  if (code !== 0) throw new Error(`the account rehearsal ended with ${code}`);
}

/** Breaks a rehearsal at each step by Ctrl-C and by expired credentials: the stack must be gone, or the command printed. */
export async function interruptEachStep(emulator: Emulator): Promise<void> {
  const proxy = await startExpiringProxy(emulator.endpoint, emulator.tls);
  const environment = { ...emulator.environment, AWS_ENDPOINT_URL: proxy.endpoint, REHEARSE_EVERY_STEP: '1' };
  const attempt = async (title: string, name: string, disturb: (run: Run) => Promise<void> | void) =>
    step(title, async () => {
      proxy.renew();
      const isStep = name !== 'preflight' && name !== 'delete';
      const run = startRehearsal(environment, isStep ? name : 'index');
      await run.until(() => run.output().includes(`▸ ${name}`));
      await disturb(run);
      const code = await run.ended;
      console.log(`    ${await judge(emulator, run, code)}`);
    });
  try {
    for (const name of STEPS) await attempt(`Ctrl-C at ${name}`, name, (run) => run.interrupt());
    await attempt('Ctrl-C while the stack is created', 'deploy', async (run) => {
      await run.until(async () => (await emulator.stackStatus(STACK)) !== undefined);
      run.interrupt();
    });
    await attempt('Ctrl-C while a worker process runs', 'lapses', async (run) => {
      await run.until(() => workers().length > 0);
      run.interrupt();
    });
    await attempt('Ctrl-C twice, as npm passes it on', 'index', (run) => {
      run.interrupt();
      run.interrupt();
    });
    for (const name of ['preflight', 'delete'])
      await attempt(`Ctrl-C again at ${name}, where AWS does not answer`, name, async (run) => {
        proxy.hold();
        run.interrupt();
        await sleep(1100);
        run.interrupt();
      });
    for (const name of STEPS) await attempt(`credentials expire at ${name}`, name, () => proxy.expire());
    await attempt('credentials expire while the stack is created', 'deploy', async (run) => {
      await run.until(async () => (await emulator.stackStatus(STACK)) !== undefined);
      proxy.expire();
    });
  } finally {
    proxy.stop();
  }
}

interface Run {
  readonly folder: string;
  readonly ended: Promise<number | null>;
  output(): string;
  interrupt(): void;
  /** Waits for a condition, or for the end of the process. */
  until(isReached: () => boolean | Promise<boolean>): Promise<void>;
}

function startRehearsal(environment: Readonly<Record<string, string>>, only: string | undefined): Run {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-interrupted-'));
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, 'emulated.ts'),
      ...['--account', ACCOUNT, '--region', REGION, '--yes'],
      ...(only === undefined ? [] : ['--only', only]),
    ],
    { cwd: folder, env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  const killNow = () => child.kill('SIGKILL');
  process.once('exit', killNow);
  const ended = once(child, 'close').then(([code]) => {
    process.off('exit', killNow);
    return code as number | null;
  });
  return {
    folder,
    ended,
    output: () => output,
    interrupt: () => child.kill('SIGINT'),
    async until(isReached) {
      const end = Date.now() + WITHIN_MS;
      while (child.exitCode === null && !(await isReached())) {
        if (Date.now() > end) throw new Error(`not reached:\n${output}`);
        await sleep(20);
      }
    },
  };
}

/** Processes of `leasehold work` for the rehearsal's jobs. */
const workers = (): string[] =>
  globSync('/proc/[0-9]*/cmdline').filter((file) => {
    try {
      return /leasehold\.ts\0work\0.*rehearsal\/jobs/.test(readFileSync(file, 'utf8'));
    } catch {
      return false;
    }
  });

/** Throws unless the run ended as promised, and deletes what the printed command would. */
async function judge(emulator: Emulator, run: Run, code: number | null): Promise<string> {
  const fail = (what: string) => {
    throw new Error(`${what}; the run ended with ${code}:\n${run.output()}`);
  };
  if (workers().length > 0) fail('a worker process is left');
  const isDeployed = run.output().includes('▸ deploy');
  const results = readdirSync(run.folder).filter((file) => /^leasehold-rehearsal-.*Z\.md$/.test(file));
  if (isDeployed && results.length !== 1) fail('there is no results file');
  const status = await emulator.stackStatus(STACK);
  const isCommandPrinted = new RegExp(`Delete it:\n {2}${COMMAND}$`, 'm').test(run.output());
  const text = results.map((file) => readFileSync(join(run.folder, file), 'utf8')).join('');
  if (isCommandPrinted !== text.includes(COMMAND)) fail('the results file and the output disagree');
  rmSync(run.folder, { recursive: true, force: true });
  if (status === undefined)
    return isCommandPrinted
      ? `exit ${code}: the stack is gone, and the command was printed`
      : `exit ${code}: the stack is gone`;
  if (!isCommandPrinted) fail(`the stack is ${status}, and the command was not printed`);
  await emulator.deleteStack(STACK);
  while ((await emulator.stackStatus(STACK)) !== undefined) await sleep(200);
  return `exit ${code}: the stack was ${status}, the command was printed, and deletes it`;
}
