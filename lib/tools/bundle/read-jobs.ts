import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import type { Schedules } from '../../client/schedules/schedule.ts';
import { scheduleProblems } from '../../client/schedules/schedule-problems.ts';
import { settingsFromEnvironment } from '../../settings/environment.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import { checkText } from '../../worker/check-schema.ts';
import { loadRegistry } from '../../worker/load-jobs-module.ts';
import { type Registry, UnknownTypeError } from '../../worker/registry.ts';
import type { JobToCheck } from './read-jobs-module.ts';
import { samplePayload } from './sample-payload.ts';

/** Loads the jobs module in a worker's bundle, and checks the jobs on stdin. */
try {
  const [, , cell = ''] = process.argv;
  const { importJobs } = await import(pathToFileURL(cell).href);
  const registry = await loadRegistry(importJobs, cell);
  const types = registry.definitions.map(({ type, payload }) => ({ type, sample: samplePayload(payload) }));
  const schedules = schedulesIn(await importJobs());
  await checkSchedules(schedules, registry);
  const given = JSON.parse((await text(process.stdin)) || '[]') as readonly JobToCheck[];
  const refusals = await Promise.all(given.map((job) => refusalOf(job, registry)));
  process.stdout.write(`\n${JSON.stringify({ types, schedules, refusals })}\n`, () => process.exit(0));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () => process.exit(1));
}

function schedulesIn(module: {
  readonly schedules?: Schedules;
  readonly default?: { readonly schedules?: Schedules };
}): Schedules {
  return module.schedules ?? module.default?.schedules ?? {};
}

async function checkSchedules(schedules: Schedules, registry: Registry): Promise<void> {
  const problems = scheduleProblems(schedules, settingsFromEnvironment(process.env));
  for (const [name, { type, payload = null }] of problems.length > 0 ? [] : Object.entries(schedules)) {
    const refusal = await refusalOf({ type, payload: JSON.stringify(payload) }, registry);
    if (refusal !== null) problems.push(`schedule '${name}': ${refusal}`);
  }
  if (problems.length > 0) throw new SettingsError(problems);
}

async function refusalOf({ type, payload }: JobToCheck, registry: Registry): Promise<string | null> {
  const definition = registry.find(type);
  const types = registry.definitions.map((each) => each.type);
  if (definition === undefined) return new UnknownTypeError(type, types).message;
  const checked = await checkText(definition.payload, payload);
  return checked.ok ? null : `its payload is refused by the schema of type '${type}': ${checked.reason}`;
}
