import { CloudWatchClient, DescribeAlarmsCommand, GetMetricDataCommand } from '@aws-sdk/client-cloudwatch';
import { UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { GetScheduleCommand, SchedulerClient, UpdateScheduleCommand } from '@aws-sdk/client-scheduler';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { JobFailedError } from '../../../lib/client/index.ts';
import { driveAlarms } from '../../../rehearsal/alarms.ts';
import { endCells, throttle } from '../../../rehearsal/measures.ts';
import { readBack } from '../../../rehearsal/steps.ts';
import type { System } from '../../../rehearsal/system.ts';

const cloudWatch = mockClient(CloudWatchClient);
const scheduler = mockClient(SchedulerClient);
afterEach(() => {
  cloudWatch.reset();
  scheduler.reset();
});
// The classes are shared with the test files after this one.
afterAll(() => {
  cloudWatch.restore();
  scheduler.restore();
});

const { signal } = new AbortController();
const outputs = {
  ServiceName: 'Own',
  TableName: 'jobs',
  WorkerSourceId: 'source',
  ReaperScheduleName: 'tick',
};

/** A system whose jobs have these rows. */
const systemOf = (rowOf: (jobId: string) => object) => {
  const updates: unknown[] = [];
  const sent: string[] = [];
  const system = {
    outputs,
    store: { read: async (jobId: string) => rowOf(jobId) },
    client: {
      send: async (_type: string, _payload: object, { jobId }: { jobId: string }) => {
        sent.push(jobId);
        return jobId;
      },
      sendMany: async (jobs: { options: { jobId: string } }[]) =>
        void sent.push(...jobs.map(({ options }) => options.jobId)),
      waitFor: async (jobId: string) => {
        throw new JobFailedError({ jobId, type: 'fail', attempt: 1, errors: [], ...rowOf(jobId) } as never);
      },
    },
    dynamoDb: {
      async send(command: object) {
        if (command instanceof UpdateTableCommand) updates.push(command.input.OnDemandThroughput);
        return { Table: { TableStatus: 'ACTIVE', GlobalSecondaryIndexes: [{ IndexStatus: 'ACTIVE' }] } };
      },
    },
  } as unknown as System;
  return { system, updates, sent };
};

/** The emulator has neither metrics of log lines, nor throttling, nor alarms, nor memory limits. */
describe('the steps that the emulator lacks, on stand-ins', () => {
  describe('metrics', () => {
    const minute = 60_000;
    const window = { from: 10 * minute + 5, to: 12 * minute + 5 };
    const shows = (reclaimed: readonly number[], delays: readonly number[]) =>
      cloudWatch.on(GetMetricDataCommand).callsFake(({ StartTime, EndTime, MetricDataQueries }) => {
        expect([StartTime.getTime(), EndTime.getTime()]).toEqual([10 * minute, 13 * minute]);
        const { Metric, Stat } = MetricDataQueries[0].MetricStat;
        expect(Metric).toMatchObject({
          Namespace: 'Leasehold',
          Dimensions: [{ Name: 'service', Value: 'Own' }],
        });
        const values = { 'JobsReclaimed Sum': reclaimed, 'ReclaimDelay Maximum': delays };
        return {
          MetricDataResults: [{ Values: values[`${Metric.MetricName} ${Stat}` as keyof typeof values] }],
        };
      });
    const read = (expected: number) =>
      readBack('eu-west-1', systemOf(() => ({})).system, { expected, window, signal });

    it('pass if every reclaim was counted, none too late', async () => {
      shows([150, 50], [900, 3999]);
      expect(await read(200)).toEqual([
        'JobsReclaimed 200 of 200, longest ReclaimDelay 4.00 s; the bound is 4.00 s',
      ]);
    });
  });

  describe('throttle', () => {
    const none = { MaxReadRequestUnits: -1, MaxWriteRequestUnits: -1 };

    it('fails if a job was charged, and removes the maximum', async () => {
      const { system, updates } = systemOf(() => ({ status: 'done', crashes: 1 }));
      await expect(throttle(system, 3, signal)).rejects.toThrow('charged 1 crashes');
      expect(updates.at(-1)).toEqual(none);
    });
  });

  it('memory: passes by what the row says of the cause', async () => {
    const rows: Record<string, object> = {
      'ends-buffers': { status: 'failed', crashes: 3, lapses: 0, lastError: 'out of memory' },
      'ends-objects': { status: 'failed', crashes: 3, lapses: 0, lastError: 'exited with 1' },
      'ends-lapsed': { status: 'failed', crashes: 0, lapses: 5, lastError: 'out of memory' },
    };
    const { system } = systemOf((jobId) => rows[jobId] ?? {});
    expect(await endCells(system, { buffers: /memory/ }, signal)).toEqual([
      'buffers: 3 crashes, 0 lapses: out of memory',
    ]);
    await expect(endCells(system, { objects: /heap/ }, signal)).rejects.toThrow('does not name the cause');
    await expect(endCells(system, { lapsed: /memory/ }, signal)).rejects.toThrow('the function died');
  });

  describe('alarms', () => {
    it('fire when something is broken, and clear once it is repaired', async () => {
      const broken = new Set(['jobs failed']);
      const breakIt = (title: string, isBroken: boolean) =>
        isBroken ? broken.add(title) : broken.delete(title);
      const asked: string[] = [];
      cloudWatch.on(DescribeAlarmsCommand).callsFake(({ AlarmNames: [name] }) => {
        const title = name.replace('Own: ', '');
        asked.push(title);
        const StateValue = broken.has(title) ? 'ALARM' : 'OK';
        if (title === 'jobs failed') broken.delete(title);
        return { MetricAlarms: [{ StateValue }] };
      });
      const schedule = {
        ...{ GroupName: 'default', ScheduleExpression: 'rate(1 minute)', ScheduleExpressionTimezone: 'UTC' },
        ...{
          FlexibleTimeWindow: { Mode: 'OFF' as const },
          Target: { Arn: 'arn:reaper', RoleArn: 'arn:role' },
        },
      };
      scheduler.on(GetScheduleCommand, { Name: 'tick' }).resolves(schedule);
      scheduler.on(UpdateScheduleCommand).callsFake(({ State, ...rest }) => {
        expect(rest).toEqual({ Name: 'tick', ...schedule });
        breakIt('the reaper is silent', State === 'DISABLED');
        return {};
      });
      const aws = {
        region: 'eu-west-1',
        async send({ path, body = '' }: { path: string; body?: string }) {
          expect(path).toBe('/2015-03-31/event-source-mappings/source');
          breakIt('jobs wait and none is started', !JSON.parse(body).Enabled);
          return '';
        },
      };
      const { system, sent } = systemOf(() => ({ status: 'failed' }));
      const notes = await driveAlarms({ system, aws: aws as never, signal });
      expect(notes).toEqual(
        ['jobs failed', 'the reaper is silent', 'jobs wait and none is started'].map((title) =>
          expect.stringMatching(
            new RegExp(`^\\*${title}\\*: ALARM after 0.0 .* OK 0.0 minutes after the repair$`),
          ),
        ),
      );
      expect(sent).toEqual(['fails', 'waits']);
      expect(broken.size).toBe(0);
      expect(asked).toHaveLength(6);
    });
  });
});
