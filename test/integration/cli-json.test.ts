import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { type Claim, claimOf } from '../../lib/protocol/job.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { commands } from '../../lib/tools/cli/commands.ts';
import { createProgram } from '../../lib/tools/cli/program.ts';
import type { Terminal } from '../../lib/tools/cli/terminal/terminal.ts';
import { type CliSystem, createCliSystem, runInProcess } from '../support/cli.ts';
import { anyEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';

const HOUR = 3_600_000;
const folder = join(import.meta.dirname, '..', '..', 'schemas');
const files = globSync('*.json', { cwd: folder }).map((file) => basename(file, '.json'));

/** Callers must expect more fields; a test does not: each field that is printed has to be described. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return 'properties' in schema ? { additionalProperties: false, ...parts } : parts;
};

const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });
for (const name of files)
  ajv.addSchema(closed(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))) as AnySchemaObject);
const problemsOf = (schema: string, document: unknown) => {
  const validate = ajv.getSchema(`${schema}.json`);
  if (validate === undefined) throw new Error(`there is no schemas/${schema}.json`);
  validate(document);
  return (validate.errors ?? []).map(({ instancePath, message, params }) => ({
    instancePath,
    message,
    params,
  }));
};

/** The schemas that have another name than their command, by the option that asks for them. */
const OTHERS: readonly (readonly [command: string, option: string, schema: string])[] = [
  ['show', '--row', 'job'],
  ['stats', '--workers', 'workers'],
  ['doctor', '--sweep', 'sweep'],
  ['dev', '--env', 'env'],
];
const FILTERS = ['--type', '--quarantined'];
function schemaOf(args: readonly string[]): string {
  const [name = ''] = args;
  const other = OTHERS.find(([command, option]) => command === name && args.includes(option));
  if (other !== undefined) return other[2];
  if (name === 'revive' && args.some((each) => FILTERS.includes(each))) return 'revive';
  return ['revive', 'cancel', 'take-back'].includes(name) ? 'acts' : name;
}

/** Of each command what differs in shape, in an order in which each finds its jobs. */
const cases: readonly {
  readonly args: readonly string[];
  readonly input?: string;
  readonly code?: number;
}[] = [
  { args: ['send', 'email', '{"to":"ada"}'] },
  { args: ['send', 'email', '--file', '-'], input: '{"a":1}\nnonsense\n', code: 1 },
  { args: ['ls'] },
  { args: ['ls', '--limit', '1'] },
  { args: ['ls', '--status', 'failed'] },
  { args: ['ls', '--status', 'done', '--scan'] },
  ...['running', 'pending', 'done', 'failed', 'quarantined', 'cancelled', 'bad:rejected'].flatMap((id) => [
    { args: ['show', id] },
    { args: ['show', id, '--row'] },
  ]),
  { args: ['stats'] },
  { args: ['stats', '--workers'] },
  { args: ['revive', '--type', 'report', '--dry-run'] },
  { args: ['revive', 'failed', 'done', 'nobody'], code: 1 },
  { args: ['cancel', 'failed', '--yes'] },
  { args: ['take-back', 'running', '--yes'] },
  { args: ['revive', '--quarantined', '--yes'] },
  { args: ['doctor', '--sweep'] },
  { args: ['doctor', '--repair', '--yes'], code: 1 },
  { args: ['plan', '--rate', '1', '--duration', '1m'] },
];

describe('what --json prints is what schemas/ says', () => {
  let system: CliSystem;
  const claim = async (jobId: string): Promise<Claim> => {
    const outcome = await system.store.claim({ job: newJob(jobId, { leaseMs: HOUR }), owner: `w/${jobId}` });
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    return claimOf(outcome.job);
  };

  beforeAll(async () => {
    system = await createCliSystem(anyEngine());
    const { store } = system;
    await store.checkpoint(await claim('running'), { seq: 1, checkpoint: 3, progress: { done: 1 } });
    await store.complete(await claim('done'), { sent: true });
    await store.fail(await claim('failed'), { errors: 1, lastError: 'Error: no' });
    const dead = await store.restart(await claim('quarantined'), {
      ...{ owner: 'w/2', leaseMs: HOUR, crashes: 2, releases: 0 },
      ...{ lastError: 'crashed: killed', diedAt: Date.now() },
    });
    if (dead.outcome !== 'restarted') throw new Error(dead.outcome);
    await store.fail(claimOf(dead.job), { errors: 0, crashes: 3, lastError: 'crashed: killed' });
    for (const id of ['pending', 'cancelled'])
      await store.schedule(newJob(id), planDispatch(Date.now(), Date.now() + HOUR, defaultSettings));
    await store.cancel('cancelled');
    await store.reject({ messageId: 'rejected', reason: 'no type', text: '{}', bytes: 2, sha256: 'x' });
  });
  afterAll(() => system.close());

  it.each(cases)('$args', async ({ args, input, code = 0 }) => {
    const run = await system.run([...args, '--json'], { input });
    expect([run.stderr.replaceAll(/^Scanning.*\n/gm, ''), run.code]).toEqual([expect.any(String), code]);
    expect(problemsOf(schemaOf(args), run.json())).toEqual([]);
  });

  it('init', async () => {
    const run = await runInProcess(['init', `json-${process.pid}-${Date.now()}`, '--json']);
    expect(problemsOf('init', run.json())).toEqual([]);
  });

  it('every command that has --json has a schema, and every schema a command', async () => {
    const context = { terminal: { columns: 80 } as Terminal, end: () => {} };
    const named = new Set<string>(['revive', ...OTHERS.map(([, , schema]) => schema)]);
    for (const { name } of commands) {
      const program = await createProgram(context, [name]);
      const command = program.commands.find((each) => each.name() === name);
      if (command?.options.some(({ long }) => long === '--json')) named.add(schemaOf([name]));
    }
    expect([...named].sort()).toEqual(files.toSorted());
  });
});
