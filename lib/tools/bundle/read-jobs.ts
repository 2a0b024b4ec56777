import { pathToFileURL } from 'node:url';
import type { Schedules } from '../../client/schedules/schedule.ts';
import { scheduleProblems } from '../../client/schedules/schedule-problems.ts';
import { settingsFromEnvironment } from '../../settings/environment.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import { checkText } from '../../worker/check-schema.ts';
import { loadRegistry } from '../../worker/load-jobs-module.ts';
import { type Registry, UnknownTypeError } from '../../worker/registry.ts';
import { samplePayload } from './sample-payload.ts';

/** A program that loads the jobs module in a worker's bundle, because a module's top level may hang or exit. */
try {
  const [, , cell = ''] = process.argv;
  const { importJobs } = await import(pathToFileURL(cell).href);
  const registry = await loadRegistry(importJobs, cell);
  const types = registry.definitions.map(({ type, payload }) => ({ type, sample: samplePayload(payload) }));
  const schedules = schedulesIn(await importJobs());
  await checkSchedules(schedules, registry);
  process.stdout.write(`\n${JSON.stringify({ types, schedules })}\n`, () => process.exit(0));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () => process.exit(1));
}

function schedulesIn(module: {
  readonly schedules?: Schedules;
  readonly default?: { readonly schedules?: Schedules };
}): Schedules {
  return module.schedules ?? module.default?.schedules ?? {};
}

/** Unlike at synth, the types and their schemas are known here. */
async function checkSchedules(schedules: Schedules, registry: Registry): Promise<void> {
  const problems = scheduleProblems(schedules, settingsFromEnvironment(process.env));
  const types = registry.definitions.map(({ type }) => type);
  for (const [name, { type, payload = null }] of problems.length > 0 ? [] : Object.entries(schedules)) {
    const definition = registry.find(type);
    if (definition === undefined) {
      problems.push(`schedule '${name}': ${new UnknownTypeError(type, types).message}`);
      continue;
    }
    const checked = await checkText(definition.payload, JSON.stringify(payload));
    if (!checked.ok)
      problems.push(
        `schedule '${name}': its payload is refused by the schema of type '${type}': ${checked.reason}`,
      );
  }
  if (problems.length > 0) throw new SettingsError(problems);
}
