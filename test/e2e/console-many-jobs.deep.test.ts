import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createTableInspection } from '../../lib/aws/dynamodb/table-inspection.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import type { JobStore } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { startConsole } from '../../lib/tools/console/start-console.ts';
import { chromiumPath, launchChromium, noBrowserReason } from '../support/browser.ts';
import { anyEngine, uniqueName } from '../support/engines.ts';
import { finishedRow, jobRow } from '../support/rows.ts';

const DONE = 8_000;
const PENDING = 2_000;
const ROUNDS = 20;
const JOBS = (DONE + PENDING).toLocaleString('en');

// Runtime-evaluated: without a browser there is no page to look at, and the reason is in the suite's title.
const title =
  chromiumPath === undefined
    ? `the page with ${JOBS} jobs (skipped: ${noBrowserReason})`
    : `the page with ${JOBS} jobs`;

describe.skipIf(chromiumPath === undefined)(title, () => {
  const settings = resolveSettings({ shards: 1, maxRunning: 100 });
  const tableName = uniqueName('many');
  const clock = systemClock;
  let browser: Browser;
  let page: Awaited<ReturnType<typeof startConsole>>;
  let store: JobStore;
  let close = () => {};

  beforeAll(async () => {
    const client = createDynamoDbClient({ clock, config: { endpoint: anyEngine().endpoint } });
    close = () => client.destroy();
    await createJobsTable(client, tableName);
    const old = Date.now() - 3_600_000;
    const rows: Row[] = [
      ...Array.from({ length: DONE }, (_, i) => finishedRow(`done-${i}`, 'done', { finishedAt: old + i })),
      ...Array.from({ length: PENDING }, (_, i) =>
        jobRow(`waiting-${i}`, { leaseUntil: Date.now() + 3_600_000 + i, createdAt: old + DONE }),
      ),
    ];
    for (let start = 0; start < rows.length; start += 25) {
      const puts = rows.slice(start, start + 25).map((row) => ({ PutRequest: { Item: marshall(row) } }));
      await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: puts } }));
    }
    const table = createDynamoDbTable({ client, tableName });
    store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'test' });
    page = await startConsole({
      ...{ tableName, table, store, settings, clock },
      scan: createTableInspection({ client, tableName }).scan,
      // The rhythm of a local stack; there are no processes to show.
      local: {
        workers: () => [],
        signal: () => false,
        killCell: async () => false,
        connect: () => () => {},
      },
    });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await page?.stop();
    close();
  });

  it('draws the first, searches at once, and shows each change as it comes', async () => {
    const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    tab.setDefaultTimeout(60_000);
    await tab.goto(page.url);
    await tab.getByRole('button', { name: new RegExp(`^all ${JOBS}`) }).waitFor();
    expect(await tab.locator('.row').count()).toBe(100);
    await tab.getByRole('button', { name: 'show more' }).click();
    expect(await tab.locator('.row').count()).toBe(200);

    await tab.getByRole('searchbox').fill(`waiting-${PENDING - 1}`);
    await tab.locator(`.row[data-job="waiting-${PENDING - 1}"]`).waitFor();
    expect(await tab.locator('.row').count()).toBe(1);
    await tab.getByRole('searchbox').fill('');
    await tab.locator(`[role="table"][aria-rowcount="${DONE + PENDING + 1}"]`).waitFor();

    // When each change reaches the page is noted in the page itself: looking from outside would add to it.
    await tab.evaluate(() => {
      const seen: Record<string, number> = {};
      Object.assign(globalThis, { seen });
      new MutationObserver(() => {
        for (const row of document.querySelectorAll<HTMLElement>('.row[data-status="running"]'))
          seen[row.dataset.job ?? ''] ??= Date.now();
      }).observe(document.body, { subtree: true, childList: true, attributes: true });
    });
    const delays = { noted: [] as number[], polled: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      const jobId = `waiting-${round}`;
      const claimed = await store.claim({ job: { jobId }, owner: `worker/${round}` });
      const at = Date.now();
      const isNoted = round % 2 === 0;
      // A local stack tells of what its workers do; in an account the next look at the index finds it.
      if (isNoted) page.watcher.note(jobId);
      await tab.waitForFunction((id) => (globalThis as { seen?: Record<string, number> }).seen?.[id], jobId);
      const seen = await tab.evaluate(
        (id) => (globalThis as { seen?: Record<string, number> }).seen?.[id] ?? 0,
        jobId,
      );
      delays[isNoted ? 'noted' : 'polled'].push(seen - at);
      if (claimed.outcome === 'claimed') await store.complete(claimOf(claimed.job));
    }
    const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1];
    console.info(
      `from a row's change to the page, with ${JOBS} jobs: median ${median(delays.noted)} ms when told, ${median(delays.polled)} ms when polled`,
    );
    expect(delays.noted).toHaveLength(ROUNDS / 2);
    await tab
      .getByRole('button', { name: new RegExp(`^done ${(DONE + ROUNDS).toLocaleString('en')}`) })
      .waitFor();
  });
});
