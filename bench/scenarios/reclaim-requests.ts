import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { noEvents } from '../../lib/aws/eventbridge.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { createMeteredStore } from '../support/metered-store.ts';
import { fill, scalingSettings as settings, silent } from './scaling.ts';

/** What the reaper needs for one lapsed job, with and without batches. */
export interface ReclaimRequests {
  readonly variant: string;
  readonly jobs: number;
  readonly requestsPerJob: number;
  readonly cpuMsPerJob: number;
}

/** The same number of lapsed leases, reclaimed row by row and in batches of 25. */
export async function reclaimRequests(jobs: number): Promise<ReclaimRequests[]> {
  const engine = await startDynamoDb();
  const results: ReclaimRequests[] = [];
  for (const batches of [false, true]) {
    const metered = await createMeteredStore({ endpoint: engine.endpoint, clock: systemClock, settings });
    await fill(metered, 'lapsed', jobs);
    const { client, tableName, meter } = metered;
    const table = createDynamoDbTable({ client, tableName, batches });
    const store = createJobStore({
      table,
      clock: systemClock,
      random: systemRandom,
      settings,
      actor: 'bench',
    });
    meter.reset();
    const before = process.cpuUsage();
    await sweep(
      {
        ...{
          table,
          store,
          clock: systemClock,
          random: systemRandom,
          settings,
          events: noEvents,
          telemetry: silent,
        },
        queue: { sendHints: async (hints) => ({ sent: hints.length, failed: [] }) },
      },
      { shards: settings.shards },
    );
    const { user, system } = process.cpuUsage(before);
    results.push({
      variant: batches ? 'batches of 25' : 'one UpdateItem a job',
      jobs,
      requestsPerJob: meter.requests / jobs,
      cpuMsPerJob: (user + system) / 1000 / jobs,
    });
    metered.close();
  }
  await engine.stop();
  return results;
}
