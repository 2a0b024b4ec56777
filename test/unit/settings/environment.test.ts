import { describe, expect, it } from 'vitest';
import {
  configurationFromEnvironment,
  settingsFromEnvironment,
  toEnvironment,
} from '../../../lib/settings/environment.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { resourceVariables } from '../../../lib/wire/environment.ts';

const resources = {
  tableName: 'jobs',
  queueUrl: 'https://sqs.example/jobs',
  serviceName: 'reports',
  eventBusName: 'default',
};

describe('a configuration in environment variables', () => {
  it('keeps defaults for unset and empty variables', () => {
    expect(settingsFromEnvironment({ LEASEHOLD_SHARDS: '', OTHER: 'x' })).toEqual(resolveSettings());
  });

  it.each([
    [{ LEASEHOLD_LEASE_MS: 'soon' }, "setting 'leaseMs' is 'soon'"],
    [{ LEASEHOLD_LEASE_MS: ' ' }, "setting 'leaseMs' is ' '"],
    [{ LEASEHOLD_REAPER_ENABLED: 'TRUE' }, "setting 'reaperEnabled' is 'TRUE'; it must be true or false"],
    [{ LEASEHOLD_REAPER_ENABLED: 'true', LEASEHOLD_LOG_LEVEL: 'x' }, "setting 'logLevel' is 'x'"],
    [
      { LEASEHOLD_ALLOW_SHORT_TIMES: 'yes' },
      "'LEASEHOLD_ALLOW_SHORT_TIMES' is 'yes'; it must be true or false",
    ],
    [
      { LEASEHOLD_LEASE_SM: '1' },
      "variable 'LEASEHOLD_LEASE_SM' is unknown. Did you mean 'LEASEHOLD_LEASE_MS'?",
    ],
  ])('refuses %j', (environment, message) => {
    expect(() => settingsFromEnvironment(environment)).toThrow(message);
  });

  it('allows short times with a local engine only', () => {
    const settings = resolveSettings({ leaseMs: 1000, skewMs: 10 }, { allowShortTimes: true });
    const local = { ...toEnvironment({ resources, settings }), LEASEHOLD_ALLOW_SHORT_TIMES: 'true' };
    const configure = (more: Record<string, string>) => () =>
      configurationFromEnvironment({ ...local, ...more });
    expect(configure({ AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:8000' })()).toEqual({
      resources,
      settings,
    });
    expect(configure({ AWS_ENDPOINT_URL: 'http://dynamodb:8000' })()).toEqual({ resources, settings });
    expect(configure({})).toThrow(/AWS_ENDPOINT_URL_DYNAMODB is not set; short times are allowed only/);
    const onAws = 'https://dynamodb.eu-west-1.amazonaws.com';
    expect(configure({ AWS_ENDPOINT_URL_DYNAMODB: onAws })).toThrow(
      `AWS_ENDPOINT_URL_DYNAMODB is '${onAws}'; short times are allowed only`,
    );
  });

  it('names every resource that is missing, with its variable', () => {
    expect(() => configurationFromEnvironment({ LEASEHOLD_TABLE_NAME: 'jobs' })).toThrow(
      Object.values(resourceVariables)
        .filter((name) => name !== 'LEASEHOLD_TABLE_NAME')
        .map(
          (name) => `environment variable '${name}' is not set; the stack sets it, a process must export it`,
        )
        .join('\n'),
    );
  });
});
