import { describe, expect, it } from 'vitest';
import { shardsNeeded } from '../../../lib/settings/relations.ts';
import {
  declarations,
  defaultSettings,
  lowest,
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
      leaseMs: 30_000,
      heartbeatMs: 10_000,
      skewMs: 2_000,
      maxAttempts: 5,
      maxCrashes: 3,
      shards: 8,
      minLeaseMs: 30_000,
      reaperEnabled: true,
    });
  });

  it('take undefined for not given', () => {
    expect(resolveSettings({ leaseMs: undefined })).toEqual(defaultSettings);
  });

  it.each(numbers)('$name may be $min to $max', ({ name, min, max, unit }) => {
    const step = unit === 'share' ? 0.01 : 1;
    expect(ownProblems(name, min)).toEqual([]);
    expect(ownProblems(name, max)).toEqual([]);
    for (const value of [min - step, max + step]) {
      const [problem = ''] = ownProblems(name, value);
      expect(problem).toContain(`is ${value}; it must be`);
      expect(problem).toContain(`from ${min} to ${max}`);
      expect(problem).toContain(declarations[name].says);
    }
  });

  it.each(numbers)('$name must be a number', ({ name }) => {
    for (const value of ['7', Number.NaN, Number.POSITIVE_INFINITY, null, [7], 10n])
      expect(ownProblems(name, value)).toHaveLength(1);
  });

  it('must be whole unless they are shares', () => {
    expect(ownProblems('shards', 1.5)[0]).toContain('a whole number from 1 to 256');
    expect(ownProblems('breakerShare', 0.25)).toEqual([]);
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
    expect(resolveSettings({ leaseMs: 60_000 })).toMatchObject({ heartbeatMs: 20_000, minLeaseMs: 30_000 });
    expect(resolveSettings({ functionTimeoutMs: 60_000 })).toMatchObject({ visibilityTimeoutMs: 120_000 });
    expect(resolveSettings({ batchWindowMs: 1_000 })).toMatchObject({ visibilityTimeoutMs: 961_000 });
  });

  it('stay where they are put', () => {
    expect(resolveSettings({ leaseMs: 60_000, heartbeatMs: 5_000 })).toMatchObject({ heartbeatMs: 5_000 });
    expect(resolveSettings({ functionTimeoutMs: 60_000, visibilityTimeoutMs: 90_000 })).toMatchObject({
      visibilityTimeoutMs: 90_000,
    });
  });

  it('blame the setting that was given, not the one that followed it', () => {
    expect(problems({ leaseMs: 1 })).toHaveLength(1);
    expect(problems({ leaseMs: Number.NaN })).toHaveLength(1);
    expect(problems({ functionTimeoutMs: Number.POSITIVE_INFINITY })).toHaveLength(1);
  });

  it('stay whole numbers at any time scale', () => {
    const scaled = resolveSettings({ timeScale: 7, functionTimeoutMs: 60_000 });
    expect(scaled.visibilityTimeoutMs).toBe(68_572);
  });
});

describe('the time scale', () => {
  const quick = { timeScale: 100, leaseMs: 300, skewMs: 30, reaperIntervalMs: 600, maxRunning: 100 };

  it('divides the lower limits of all times, for demonstrations', () => {
    expect(resolveSettings(quick)).toMatchObject({ leaseMs: 300, heartbeatMs: 100, minLeaseMs: 300 });
    expect(problems({ ...quick, timeScale: 1 }).length).toBeGreaterThan(0);
  });

  it('rounds a divided limit up', () => {
    expect(lowest(declarations.leaseMs, 3)).toBe(3_334);
    expect(lowest(declarations.shards, 3)).toBe(1);
  });

  it('divides nothing else', () => {
    expect(ownProblems('maxReceiveCount', 9)).toHaveLength(1);
    expect(problems({ timeScale: 100, maxReceiveCount: 9 })).toHaveLength(1);
  });

  it('counts as 1 while it is itself refused', () => {
    expect(problems({ timeScale: 0, leaseMs: 9_999 }).join()).toContain('from 10000');
    expect(problems({ timeScale: '9', leaseMs: 9_999 }).join()).toContain('from 10000');
  });
});

describe('relations between settings name both, with both values and the way out', () => {
  const cases: [string, Record<string, unknown>, readonly string[]][] = [
    [
      'a beat is too slow',
      { heartbeatMs: 10_001 },
      ['heartbeatMs (10001)', 'leaseMs (30000)', 'set heartbeatMs to 10000 or leaseMs to 30003'],
    ],
    [
      'the shortest lease is above the usual',
      { minLeaseMs: 30_001 },
      ['minLeaseMs (30001)', 'leaseMs (30000)', 'lower minLeaseMs or raise leaseMs'],
    ],
    [
      'the skew eats the lease',
      { skewMs: 10_000 },
      ['skewMs (10000)', 'minLeaseMs (30000)', 'lower skewMs to 9999 or raise minLeaseMs above 30000'],
    ],
    [
      'messages reappear while they run',
      { visibilityTimeoutMs: 899_999 },
      [
        'functionTimeoutMs (900000)',
        'visibilityTimeoutMs (899999)',
        'set visibilityTimeoutMs to 900000 or more',
      ],
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
      { shards: 1, maxRunning: 4_251 },
      ['shards (1)', 'maxRunning (4251)', 'heartbeatMs (10000)', 'set shards to 2 or more'],
    ],
  ];

  it.each(cases)('when %s', (_, given, parts) => {
    const [problem = '', ...others] = problems(given);
    expect(others).toEqual([]);
    for (const part of parts) expect(problem).toContain(part);
  });

  it.each([
    ['heartbeatMs', { heartbeatMs: 10_000 }],
    ['skewMs', { skewMs: 9_999 }],
    ['visibilityTimeoutMs', { visibilityTimeoutMs: 900_000 }],
    ['deadlineMarginMs', { functionTimeoutMs: 10_001 }],
    ['maxCrashes', { maxCrashes: 5 }],
    ['shards', { shards: 1, maxRunning: 4_250 }],
  ])('%s is accepted at its bound', (_, given) => {
    expect(problems(given)).toEqual([]);
  });

  it('are not looked at while a setting alone is out of its limits', () => {
    expect(problems({ shards: 0, maxCrashes: 6 })).toHaveLength(1);
  });

  it('carry a million jobs at the default heartbeat with the shards that there may be', () => {
    expect(shardsNeeded({ maxRunning: 1_000_000, heartbeatMs: 10_000 })).toBe(236);
  });

  it('need one shard at least', () => {
    expect(shardsNeeded({ maxRunning: 1, heartbeatMs: 10_000 })).toBe(1);
  });
});
