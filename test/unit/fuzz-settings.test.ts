import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  configurationFromEnvironment,
  settingsFromEnvironment,
  toEnvironment,
} from '../../lib/settings/environment.ts';
import { brokenRelations } from '../../lib/settings/relations.ts';
import {
  declarations,
  resolveSettings,
  type SettingDeclaration,
  type Settings,
  settingNames,
} from '../../lib/settings/settings.ts';
import { SettingsError } from '../../lib/settings/settings-error.ts';
import { settingVariable } from '../../lib/wire/environment.ts';
import { fuzzRuns } from '../support/fuzz-runs.ts';

const odd = fc.oneof(
  fc.anything(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -0, -1, 0.5, '1', '', 10n, null, undefined, []),
);

/** A value within the limits of a setting, so that relations decide. */
function within(declaration: SettingDeclaration): fc.Arbitrary<unknown> {
  switch (declaration.kind) {
    case 'switch':
      return fc.boolean();
    case 'choice':
      return fc.constantFrom(...declaration.choices);
    case 'types':
      return fc.constantFrom('', '*', 'a', 'a,b');
    case 'number':
      return fc.oneof(
        fc.integer({ min: declaration.min, max: declaration.max }),
        fc.constantFrom(declaration.min, declaration.max, declaration.default),
      );
  }
}

const some = fc.subarray(settingNames, { maxLength: 8 });
const chosen = (value: (declaration: SettingDeclaration) => fc.Arbitrary<unknown>) =>
  some.chain((names) =>
    fc.record(Object.fromEntries(names.map((name) => [name, value(declarations[name])]))),
  );

/** The settings, or undefined where they were refused; anything but a refusal in words fails the test. */
function settingsOrRefusal(resolve: () => Settings): Settings | undefined {
  try {
    return resolve();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    expect(error.problems.length).toBeGreaterThan(0);
    for (const problem of error.problems) expect(problem.length).toBeGreaterThan(20);
    return undefined;
  }
}

function expectSound(settings: Settings): void {
  expect(brokenRelations(settings)).toEqual([]);
  for (const name of settingNames) {
    const declaration: SettingDeclaration = declarations[name];
    const value = settings[name];
    if (declaration.kind !== 'number') continue;
    expect(value).toBeGreaterThanOrEqual(declaration.min);
    expect(value).toBeLessThanOrEqual(declaration.max);
  }
}

describe('whatever settings are given', () => {
  it('are refused in words, or complete, within limits and in agreement', () => {
    const given = fc.oneof(
      chosen(within),
      chosen(() => odd),
      chosen((declaration) => fc.oneof({ weight: 9, arbitrary: within(declaration) }, odd)),
      fc.dictionary(fc.string(), odd),
    );
    fc.assert(
      fc.property(given, (settings) => {
        const resolved = settingsOrRefusal(() => resolveSettings(settings));
        if (resolved !== undefined) expectSound(resolved);
      }),
      fuzzRuns(600),
    );
  });

  it('are refused in words, or sound, when they come as environment variables of any text', () => {
    const text = fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String), fc.constant(''));
    const variables = chosen(() => text).map((given) =>
      Object.fromEntries(
        Object.entries(given).map(([name, value]) => [settingVariable(name), String(value)]),
      ),
    );
    fc.assert(
      fc.property(fc.oneof(variables, fc.dictionary(fc.string(), text)), (environment) => {
        const resolved = settingsOrRefusal(() => settingsFromEnvironment(environment));
        if (resolved !== undefined) expectSound(resolved);
      }),
      fuzzRuns(600),
    );
  });

  it('survive the way through the environment unchanged', () => {
    const resources = { tableName: 't', queueUrl: 'q', serviceName: 's', eventBusName: 'b' };
    fc.assert(
      fc.property(chosen(within), (given) => {
        const settings = settingsOrRefusal(() => resolveSettings(given));
        if (settings === undefined) return;
        const configuration = { resources, settings };
        expect(configurationFromEnvironment(toEnvironment(configuration))).toEqual(configuration);
      }),
      fuzzRuns(600),
    );
  });
});
