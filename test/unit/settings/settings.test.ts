import { describe, expect, it } from 'vitest';
import { shardsNeeded } from '../../../lib/settings/relations.ts';
import {
  declarations,
  defaultSettings,
  resolveSettings,
  type SettingDeclaration,
  settingNames,
} from '../../../lib/settings/settings.ts';
import { SettingsError } from '../../../lib/settings/settings-error.ts';

const problems = (given: Record<string, unknown>): readonly string[] => {
  try {
    resolveSettings(given);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError);
    return (error as SettingsError).problems;
  }
};

/** Problems of this setting's own limits, as opposed to its relations with others. */
const ownProblems = (name: string, value: unknown) =>
  problems({ [name]: value }).filter((problem) => problem.startsWith(`setting '${name}'`));

const numbers = settingNames.flatMap((name) => {
  const declaration: SettingDeclaration = declarations[name];
  return declaration.kind === 'number' ? [{ name, ...declaration }] : [];
});

describe('settings', () => {
  it('have defaults that work together', () => {
    expect(resolveSettings()).toEqual(defaultSettings);
    expect(defaultSettings).toMatchObject({
      leaseMs: 20_000,
      heartbeatMs: 5_000,
      skewMs: 2_000,
      maxAttempts: 5,
      maxCrashes: 3,
      shards: 8,
      minLeaseMs: 20_000,
      reaperEnabled: true,
    });
  });

  it.each(numbers)('$name may be $min to $max', ({ name, min, max }) => {
    expect(ownProblems(name, min)).toEqual([]);
    expect(ownProblems(name, max)).toEqual([]);
    for (const value of [min - 1, max + 1]) {
      const [problem = ''] = ownProblems(name, value);
      expect(problem).toContain(`is ${value}; it must be`);
      expect(problem).toContain(`from ${min} to ${max}`);
      expect(problem).toContain(declarations[name].description);
    }
  });

  it('are switches that take only true and false', () => {
    expect(ownProblems('reaperEnabled', false)).toEqual([]);
    expect(ownProblems('reaperEnabled', 'no')[0]).toContain("is 'no'; it must be true or false");
  });

  it('are choices that list what there is', () => {
    expect(ownProblems('logLevel', 'WARN')).toEqual([]);
    expect(ownProblems('logLevel', 'chatty')[0]).toContain('one of DEBUG, INFO, WARN, ERROR');
  });

  it('are refused under unknown names, with the near one suggested', () => {
    expect(problems({ leaseMS: 1 })[0]).toContain("setting 'leaseMS' is unknown. Did you mean 'leaseMs'?");
    expect(problems(JSON.parse('{"__proto__":1}'))[0]).toContain("'__proto__' is unknown. Allowed: leaseMs");
  });

  it('are refused with every problem at once', () => {
    expect(problems({ shards: 0, logLevel: 'x', nonsense: 1 })).toHaveLength(3);
  });
});

describe('settings that follow from others', () => {
  it('move along when only the other is given', () => {
    expect(resolveSettings({ leaseMs: 60_000 })).toMatchObject({ heartbeatMs: 20_000, minLeaseMs: 20_000 });
    expect(resolveSettings({ leaseMs: 10_000 })).toMatchObject({ heartbeatMs: 3_333, minLeaseMs: 10_000 });
  });

  it('blame the setting that was given, not the one that followed it', () => {
    expect(problems({ leaseMs: 1 })).toHaveLength(1);
    expect(problems({ leaseMs: Number.NaN })).toHaveLength(1);
    expect(problems({ functionTimeoutMs: Number.POSITIVE_INFINITY })).toHaveLength(1);
  });
});

describe('short times', () => {
  const quick = { leaseMs: 300, skewMs: 30, reaperIntervalMs: 600, maxRunning: 100 };
  const refused = (given: Record<string, unknown>) => {
    try {
      resolveSettings(given, { allowShortTimes: true });
      return [];
    } catch (error) {
      return (error as SettingsError).problems;
    }
  };

  it('are refused unless they are allowed', () => {
    expect(problems(quick)).toHaveLength(3);
    expect(resolveSettings(quick, { allowShortTimes: true })).toMatchObject({
      ...{ leaseMs: 300, heartbeatMs: 100, minLeaseMs: 300 },
    });
  });

  it('are a millisecond or more where a time is needed at all', () => {
    expect(refused({ skewMs: 0 }).join()).toContain('from 1 to');
    expect(refused({ batchWindowMs: 0, skewMs: 1 })).toEqual([]);
  });
});

describe('relations between settings name both, with both values and the way out', () => {
  const cases: [string, Record<string, unknown>, readonly string[]][] = [
    [
      'a beat is too slow',
      { heartbeatMs: 6_667 },
      ['heartbeatMs (6667)', 'leaseMs (20000)', 'set heartbeatMs to 6666 or leaseMs to 20001'],
    ],
    [
      'the shortest lease is above the usual',
      { minLeaseMs: 20_001 },
      ['minLeaseMs (20001)', 'leaseMs (20000)', 'lower minLeaseMs or raise leaseMs'],
    ],
    [
      'the skew eats the lease',
      { skewMs: 6_667 },
      ['skewMs (6667)', 'minLeaseMs (20000)', 'lower skewMs to 6666 or raise minLeaseMs above 20001'],
    ],
    [
      'no job ever starts',
      { functionTimeoutMs: 10_000 },
      ['deadlineMarginMs (10000)', 'functionTimeoutMs (10000)', 'lower deadlineMarginMs'],
    ],
    [
      'dead letters go first',
      { queueRetentionMs: 1_209_600_000 },
      ['queueRetentionMs (1209600000)', 'deadLetterRetentionMs (1209600000)', 'lower queueRetentionMs'],
    ],
    [
      'rows go before late duplicates',
      { rowRetentionMs: 1_209_600_000 },
      ['deadLetterRetentionMs (1209600000)', 'rowRetentionMs (1209600000)', 'raise rowRetentionMs'],
    ],
    [
      'the backoff is capped below its base',
      { backoffCapMs: 1_999 },
      ['backoffCapMs (1999)', 'backoffBaseMs (2000)', 'raise backoffCapMs or lower backoffBaseMs'],
    ],
    [
      'the dispatch lease is capped below its base',
      { dispatchLeaseCapMs: 59_999 },
      ['dispatchLeaseCapMs (59999)', 'dispatchLeaseMs (60000)', 'raise dispatchLeaseCapMs'],
    ],
    [
      'crashes outnumber attempts',
      { maxCrashes: 6 },
      ['maxCrashes (6)', 'maxAttempts (5)', 'lower maxCrashes or raise maxAttempts'],
    ],
    [
      'more jobs run than are taken',
      { batchConcurrency: 2 },
      ['batchConcurrency (2)', 'batchSize (1)', 'raise batchSize or lower batchConcurrency'],
    ],
    [
      'heartbeats outgrow the index',
      { shards: 1, maxRunning: 1_626 },
      ['shards (1)', 'maxRunning (1626)', 'heartbeatMs (5000)', 'set shards to 2 or more'],
    ],
    [
      'starts of short jobs outgrow the index',
      { maxStartsPerSecond: 10_000 },
      ['shards (8)', 'maxStartsPerSecond (10000)', 'set shards to 24 or more'],
    ],
  ];

  it.each(cases)('when %s', (_, given, parts) => {
    const [problem = '', ...others] = problems(given);
    expect(others).toEqual([]);
    for (const part of parts) expect(problem).toContain(part);
  });

  it.each([
    ['heartbeatMs', { heartbeatMs: 6_666 }],
    ['skewMs', { skewMs: 6_666 }],
    ['deadlineMarginMs', { functionTimeoutMs: 10_001 }],
    ['maxCrashes', { maxCrashes: 5 }],
    ['shards', { shards: 1, maxRunning: 1_625 }],
  ])('%s is accepted at its bound', (_, given) => {
    expect(problems(given)).toEqual([]);
  });

  it('carry a million jobs at a lease of 30 s with the shards that there may be', () => {
    expect(shardsNeeded({ maxRunning: 1_000_000, heartbeatMs: 10_000 })).toBe(236);
  });
});
