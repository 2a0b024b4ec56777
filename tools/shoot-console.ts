import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { WorkerSummary } from '../lib/tools/console/page-messages.ts';
import { launchChromium } from '../test/support/browser.ts';
import { notRetried, quarantined, running, usedUp } from '../test/support/console-rows.ts';
import { startConsoleStage } from '../test/support/console-stage.ts';
import { finishedRow, jobRow } from '../test/support/rows.ts';

/**
 * Takes the pictures of the console in docs/images, of a console on made-up rows, so that they show the same each time.
 * Run by `npx node tools/shoot-console.ts`.
 */
const images = join(import.meta.dirname, '..', 'docs', 'images');
const LEASE_MS = 30_000;

/** A busy system: jobs that run, one whose worker was just killed, one that runs again, some that failed. */
function scene(now: number) {
  const owner = (pid: number) => `laptop-${pid}-aB3d/k`;
  const held = (jobId: string, pid: number, leftMs: number, over: object = {}) =>
    running(jobId, now, leftMs, {
      ...{ leaseOwner: owner(pid), leaseMs: LEASE_MS, createdAt: now - 64_000 },
      ...over,
    });
  const done = (jobId: string, type: string, agoMs: number, ranMs: number) =>
    finishedRow(jobId, 'done', {
      ...{ type, leaseOwner: owner(4010), finishedAt: now - agoMs, startedAt: now - agoMs - ranMs },
      createdAt: now - agoMs - ranMs,
    });
  const types = ['thumbnail', 'thumbnail', 'send-mail', 'thumbnail'] as const;
  const progress = (step: number) => ({ progress: JSON.stringify({ step, of: 20 }), checkpointSeq: step });
  const rows = [
    held('report-2026-11', 4010, 21_000, { startedAt: now - 41_000, ...progress(13) }),
    held('export-customers', 4045, 26_500, { type: 'export', startedAt: now - 9_000, ...progress(4) }),
    held('report-2026-10', 4012, 7_400, { startedAt: now - 63_000, ...progress(17) }),
    held('resize-8841', 4045, 28_000, {
      ...{ type: 'resize', attempt: 2, crashes: 1, lastError: 'crashed: out of memory (heap)' },
      startedAt: now - 2_400,
    }),
    jobRow('mail-118', {
      ...{ type: 'send-mail', attempt: 2, errors: 2, lastError: 'Error: SMTP 421, try again later' },
      ...{ notBefore: now + 48_000, leaseUntil: now + 90_000 },
    }),
    usedUp('invoice-000117', now),
    notRetried('import-3', now),
    quarantined('resize-9917', now),
    ...Array.from({ length: 80 }, (_, i) =>
      done(
        `${types[i % 4]}-${4200 - i}`,
        types[i % 4] ?? '',
        5_000 + i * 2_700 + (i % 7) * 300,
        180 + (i % 9) * 70,
      ),
    ),
  ];
  const worker = (pid: number, more: Partial<WorkerSummary>): WorkerSummary => ({
    ...{ name: `process ${pid}`, pid, state: 'idle', since: now - 12_000, jobs: [], invocations: 31 },
    cells: [{ pid: pid + 61 }, { pid: pid + 64 }],
    ...more,
  });
  const workers = [
    worker(4010, { state: 'busy', since: now - 41_000, jobs: ['report-2026-11'] }),
    worker(4012, { state: 'gone', since: now - 4_000, ending: 'signal: killed', cells: [] }),
    worker(4045, { state: 'busy', since: now - 9_000, jobs: ['export-customers', 'resize-8841'] }),
  ];
  return { rows, workers };
}

const reaperRow = (now: number) => ({
  ...{
    jobId: 'leader:reaper',
    wake: 'a',
    wakeAt: now + 50_000,
    ledAt: now - 3_000,
    holder: 'r',
    term: 1,
    shards: 2,
  },
});

async function open() {
  const { rows, workers } = scene(Date.now());
  const local = {
    ...{ workers: () => workers, signal: () => false, killCell: async () => false },
    connect: () => () => {},
  };
  const queueDepth = async () => ({ visible: 135, inFlight: 4, delayed: 0 });
  return startConsoleStage({ tableName: 'my-jobs', local, queueDepth }, [...rows, reaperRow(Date.now())]);
}

/** An hour of a busy day, as if the console had been open since. */
async function fillTrend({ console: { watcher } }: Awaited<ReturnType<typeof open>>) {
  const now = Date.now();
  for (let ago = 3_600_000; ago > 5_000; ago -= 5_000) {
    const wave = 1 + Math.sin(ago / 400_000);
    watcher.trend.look(now - ago, { running: Math.round(3 + 4 * wave), waiting: Math.round(90 * wave) });
    for (let i = 0; i < 2 + 3 * wave; i++) watcher.trend.count('done', now - ago, now);
    if (ago % 240_000 === 0) watcher.trend.count('failed', now - ago, now);
    if (ago % 900_000 === 0) watcher.trend.count('crashed', now - ago, now);
    if (ago === 1_200_000) for (let i = 0; i < 3; i++) watcher.trend.count('reclaimed', now - ago, now);
  }
}

const browser = await launchChromium();
mkdirSync(images, { recursive: true });

async function shoot(
  name: string,
  options: BrowserContextOptions & { readonly fragment?: string },
  prepare: (page: Page, stop: () => Promise<void>) => Promise<unknown> = async () => {},
): Promise<void> {
  const { fragment = '#/', ...how } = options;
  const stage = await open();
  await fillTrend(stage);
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    ...how,
  });
  const page = await context.newPage();
  await page.goto(stage.console.url);
  await page.getByText('live', { exact: true }).waitFor();
  await page.evaluate((hash) => {
    location.hash = hash;
  }, fragment);
  await page.locator('.row, .job-body').first().waitFor();
  // Plots and menus are drawn every second or two.
  await page.waitForTimeout(2_200);
  await prepare(page, () => stage.console.stop());
  await page.screenshot({ path: join(images, `${name}.png`) });
  await context.close();
  await stage.console.stop().catch(() => {});
  console.log(`docs/images/${name}.png`);
}

await shoot('console-light', {});
await shoot('console-failed', { fragment: '#/jobs/invoice-000117' });
await shoot('console-dark', { colorScheme: 'dark', fragment: '#/jobs/report-2026-10' });
await shoot('console-lost', {}, async (page, stop) => {
  await stop();
  await page.getByRole('alert').waitFor();
});
await shoot('console-phone', { viewport: { width: 390, height: 844 } });
await browser.close();
