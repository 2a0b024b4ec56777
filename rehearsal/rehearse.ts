import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { SQSClient } from '@aws-sdk/client-sqs';
import { moduleExtension, packageFolder } from '../lib/this-package.ts';
import { createAwsRequests } from './aws-request.ts';
import { createChildren } from './children.ts';
import { deleteCommand, identityVariables } from './identity.ts';
import { type Choice, COUNTS, type Counts, chooseAccount, planText, STACK, yesArguments } from './plan.ts';
import { gatherFacts, judge } from './preflight.ts';
import { removeStack, stackApi } from './remove-stack.ts';
import { resultsFile, resultsText, seconds, tally } from './results.ts';
import {
  type Ability,
  areCredentialsGone,
  messageOf,
  runSteps,
  type Step,
  type StepResult,
} from './step-runner.ts';
import { createSteps, isRepository } from './steps.ts';

export interface StandIn {
  readonly app: string;
  readonly lacks: readonly Ability[];
  readonly counts: Counts;
  readonly pollMs: number;
}

const REAL: StandIn = {
  app: join(import.meta.dirname, `app${moduleExtension}`),
  lacks: isRepository ? [] : ['the repository'],
  counts: COUNTS,
  pollMs: 5000,
};
const DELETED_WITHIN_MS = 30 * 60_000;
/** npm passes a Ctrl-C on to its child, which got it from the terminal as well. */
const SAME_INTERRUPT_MS = 1000;

export async function rehearseCommand(
  args: readonly string[],
  { command, standIn = REAL }: { readonly command: string; readonly standIn?: StandIn },
): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      account: { type: 'string', default: '' },
      region: { type: 'string' },
      profile: { type: 'string' },
      role: { type: 'string' },
      only: { type: 'string' },
      yes: { type: 'boolean' },
    },
  });
  const steps = titles(standIn.counts);
  const choice = chooseAccount(
    values,
    process.env,
    steps.map(({ name }) => name),
  );
  if ('refused' in choice) {
    console.error(choice.refused);
    return 1;
  }
  const plan = planText(choice, steps);
  if (values.yes !== true) {
    console.error(`${plan}\n\nNothing was done. To do it:\n  ${command} ${yesArguments(choice)}`);
    return 1;
  }
  console.log(`${plan}\n`);
  return rehearse(choice, standIn);
}

const titles = (counts: Counts) =>
  createSteps({ counts } as Parameters<typeof createSteps>[0]).steps.map(({ name, title }) => ({
    name,
    title,
  }));

async function rehearse(choice: Choice, { app, lacks, counts, pollMs }: StandIn): Promise<number> {
  const startedAt = new Date();
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-rehearsal-'));
  const variables = identityVariables(choice, process.env, folder);
  // One identity for the clients in this process and for every child.
  Object.assign(process.env, { AWS_REGION: choice.region }, variables);
  const deleteIt = deleteCommand(STACK, choice.region, variables);
  const { credentials } = new SQSClient({ region: choice.region }).config;
  const aws = createAwsRequests(choice.region, credentials);
  const api = stackApi(aws, STACK);
  const children = createChildren();
  const results: StepResult[] = [];
  let isDeployed = false;

  const finish = (ending: string, isGone: boolean): number => {
    const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
    const file = resolve(resultsFile(startedAt));
    writeFileSync(file, resultsText({ startedAt, version, region: choice.region, results, ending }));
    console.log(`\n${ending}\n${tally(results)} Results: ${file}`);
    if (isGone) rmSync(folder, { recursive: true, force: true });
    return isGone && results.every(({ outcome }) => outcome === 'passed' || outcome === 'skipped') ? 0 : 1;
  };
  const left = (why: string) =>
    finish(`The stack ${STACK} may still exist and cost money: ${why}. Delete it:\n  ${deleteIt}`, false);

  const interrupt = onInterrupt(() => {
    if (isDeployed) left('interrupted again');
    process.exit(130);
  });

  const run = (steps: readonly Step[], onEnd: (result: StepResult) => void) =>
    runSteps(steps, {
      signal: interrupt,
      lacks,
      onEnd,
      isFatal: areCredentialsGone,
      now: () => performance.now(),
      onStart: ({ name, title }) => console.log(`▸ ${name}: ${title}`),
    });
  const report = (result: StepResult) => {
    if (result.outcome !== 'not reached') console.log(describeResult(result));
  };

  const preflight: Step = {
    name: 'preflight',
    title: 'bootstrap, concurrency, session, clock, tools, and no stack of that name',
    async run() {
      const facts = await gatherFacts(aws, api, credentials, process.env);
      const { problems, warnings } = judge(facts, choice, deleteIt);
      if (problems.length > 0) throw new Error(problems.join('\n  '));
      return warnings.map((warning) => `warning: ${warning}`);
    },
  };
  const [checked] = await run([preflight], report);
  if (checked?.outcome !== 'passed') {
    rmSync(folder, { recursive: true, force: true });
    console.log('Nothing was deployed.');
    return 1;
  }

  const { steps, close } = createSteps({
    choice,
    counts,
    aws,
    children,
    folder,
    app,
    onDeploy() {
      isDeployed = true;
      console.log(`  if this process is killed, delete the stack by hand: ${deleteIt}`);
    },
  });
  const { only } = choice;
  await run(
    steps.filter(({ name, required }) => required || only === undefined || only.includes(name)),
    (result) => {
      results.push(result);
      report(result);
    },
  );
  await children.killAll();
  close();
  if (!isDeployed) return finish('Nothing was deployed.', true);
  console.log(`▸ delete: delete the stack ${STACK}, its table, queues and logs; its key goes in 7 days`);
  try {
    await removeStack(api, { sleep, pollMs, now: Date.now, withinMs: DELETED_WITHIN_MS });
    return finish(`The stack ${STACK} is gone.`, true);
  } catch (error) {
    return left(messageOf(error));
  }
}

/** Aborts at the first Ctrl-C, SIGTERM or SIGHUP; a later one calls `onSecond`. */
function onInterrupt(onSecond: () => void): AbortSignal {
  const interrupted = new AbortController();
  let firstAt: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (firstAt === undefined) {
        firstAt = performance.now();
        console.log(
          `\n${signal}: cleaning up. Interrupt again to leave the stack as it is and see how to delete it.`,
        );
        interrupted.abort(new Error(`interrupted by ${signal}`));
      } else if (performance.now() - firstAt > SAME_INTERRUPT_MS) onSecond();
    });
  // A closed terminal or pipe must not end the process before it has cleaned up.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  return interrupted.signal;
}

const describeResult = ({ name, outcome, ms, notes }: StepResult): string =>
  [
    `${outcome === 'passed' ? '✓' : outcome === 'skipped' ? '-' : '✗'} ${name} ${outcome}${ms === 0 ? '' : ` (${seconds(ms)})`}`,
    ...notes.map((note) => `  ${note}`),
  ].join('\n');
