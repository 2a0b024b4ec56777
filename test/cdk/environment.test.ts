import { Duration } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import type { LeaseholdJobsProps } from '../../lib/cdk/props/leasehold-jobs-props.ts';
import { configurationFromEnvironment } from '../../lib/settings/environment.ts';
import { flat, resourceOf, type Synthesized, synthesize, withoutValidation } from './support.ts';

withoutValidation();

/** Lambda takes at most this many bytes of names and values. */
const ENVIRONMENT_LIMIT = 4096;

const functionsOf = ({ jobs }: Synthesized) => ({
  worker: jobs.workerFunction,
  reaper: jobs.reaperFunction,
  'dead-letter': jobs.deadLetterFunction,
});

function variablesOf(from: Synthesized, name: keyof ReturnType<typeof functionsOf>): Record<string, string> {
  const { Environment } = resourceOf(from, functionsOf(from)[name]).Properties;
  return (flat(Environment) as { Variables: Record<string, string> }).Variables;
}

const unusual: LeaseholdJobsProps = {
  serviceName: 'unusual',
  lease: Duration.minutes(2),
  heartbeat: Duration.seconds(25),
  maxLapses: 3,
  eventsEnabled: false,
  shards: 32,
  functionTimeout: Duration.minutes(3),
};

describe('the environment of each function', () => {
  it.each(['worker', 'reaper', 'dead-letter'] as const)('gives the %s the settings of the stack', (name) => {
    const made = synthesize(unusual);
    const variables = variablesOf(made, name);
    expect(configurationFromEnvironment(variables)).toEqual({
      settings: made.jobs.settings,
      resources: {
        tableName: expect.stringMatching(/^<JobsTable/),
        queueUrl: expect.stringMatching(/^<JobsQueue/),
        serviceName: 'unusual',
        eventBusName: 'default',
      },
    });
    expect(made.jobs.settings).toMatchObject({
      leaseMs: 120_000,
      heartbeatMs: 25_000,
    });
  });

  it('leaves room for the user’s own variables', () => {
    const made = synthesize({ workerFunctionProps: { environment: { BUCKET: 'reports' } } });
    const variables = variablesOf(made, 'worker');
    expect(variables).toMatchObject({ BUCKET: 'reports' });
    expect(variablesOf(made, 'reaper')).not.toHaveProperty('BUCKET');
    const bytes = Object.entries(variables).reduce(
      (sum, [name, value]) => sum + name.length + value.length,
      0,
    );
    expect(bytes).toBeLessThan(ENVIRONMENT_LIMIT - 1024);
  });
});
