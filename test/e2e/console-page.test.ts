import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { createControlReader, parseControl } from '../../lib/protocol/limits/control.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import type { ConsoleOptions, LocalWorkers } from '../../lib/tools/console/start-console.ts';
import { CONTROL_KEY } from '../../lib/wire/limits.ts';
import { chromiumPath, launchChromium, noBrowserReason } from '../support/browser.ts';
import { notRetried, quarantined, running, STACK, usedUp } from '../support/console-rows.ts';
import { type ConsoleStage, startConsoleStage } from '../support/console-stage.ts';
import { problemsOf } from '../support/page-problems.ts';
import { finishedRow, jobRow } from '../support/rows.ts';

// Runtime-evaluated: without a browser there is no page to look at, and the reason is in the suite's title.
const title =
  chromiumPath === undefined
    ? `what an operator sees (skipped: ${noBrowserReason})`
    : 'what an operator sees';

describe.skipIf(chromiumPath === undefined)(title, () => {
  let browser: Browser;
  /** For all tests that need no other: a context of its own costs a test more than its page does. */
  let desktop: BrowserContext;
  const stages: ConsoleStage[] = [];
  const complaints: string[] = [];
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
    desktop = await newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  });
  afterAll(async () => {
    await browser?.close();
  });
  afterEach(async () => {
    await Promise.all(desktop.pages().map((page) => page.close()));
    await Promise.all(ends.splice(0).map((end) => end()));
    await Promise.all(stages.splice(0).map((stage) => stage.console.stop().catch(() => {})));
    expect(complaints.splice(0)).toEqual([]);
  });

  const DEPTH = { visible: 134, inFlight: 3, delayed: 2 };
  const OFTEN = { pollMs: 100, idlePollMs: 0, queueEveryMs: 100, failuresEveryMs: 100 };
  const start = async (rows: readonly Row[] = [], options: Partial<ConsoleOptions> = {}) => {
    const stage = await startConsoleStage({ queueDepth: async () => DEPTH, rhythm: OFTEN, ...options }, rows);
    stages.push(stage);
    return stage;
  };
  /** As in an account, where nothing is scanned. */
  const startAccount = (rows: readonly Row[], options: Partial<ConsoleOptions> = {}) =>
    start(rows, { scan: undefined, ...options });
  const newContext = async (options: BrowserContextOptions) => {
    const context = await browser.newContext({
      ...{ viewport: { width: 1280, height: 800 }, locale: 'en-US', timezoneId: 'UTC' },
      // What moves all the time is drawn all the time, which a machine without a graphics card feels.
      reducedMotion: 'reduce',
      ...options,
    });
    context.setDefaultTimeout(60_000);
    return context;
  };
  const contextFor = async (options: BrowserContextOptions | undefined) => {
    if (options === undefined) return desktop;
    const context = await newContext(options);
    ends.push(() => context.close());
    return context;
  };
  const open = async (stage: ConsoleStage, fragment?: string, options?: BrowserContextOptions) => {
    const page = await (await contextFor(options)).newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(stage.console.url);
    await page.getByText('live', { exact: true }).waitFor();
    if (fragment !== undefined) await goTo(page, fragment);
    return page;
  };
  const goTo = (page: Page, fragment: string) =>
    page.evaluate((hash) => {
      location.hash = hash;
    }, fragment);
  const row = (page: Page, jobId: string, status = '') =>
    page.locator(`.row[data-job="${jobId}"]${status && `[data-status="${status}"]`}`);
  const tab = (page: Page, name: string) =>
    page.getByRole('toolbar').getByRole('button', { name: new RegExp(`^${name}`) });

  describe('truth', () => {
    it('counts failures of all types and the queue, and shows a dash with its reason for what it cannot know', async () => {
      const stage = await startAccount([
        ...Array.from({ length: 30 }, (_, i) => finishedRow(`done-${i}`, 'done')),
        ...Array.from({ length: 5 }, (_, i) => finishedRow(`bad-${i}`, 'failed', { type: `type-${i % 3}` })),
        running('seen', Date.now(), 60_000),
      ]);
      const page = await open(stage);
      await tab(page, 'failed 5').waitFor();
      expect(await tab(page, 'done').textContent()).toBe('done –');
      expect(await tab(page, 'done').getAttribute('title')).toContain('in no index');
      expect(await tab(page, 'cancelled').textContent()).toBe('cancelled –');
      expect(await tab(page, 'queued').textContent()).toBe('queued 136');
      expect(await tab(page, 'all').textContent()).toBe('all 6+');
      await tab(page, 'queued').click();
      await page.getByText('134 messages wait').waitFor();
      // Of what finishes from now on it knows some, and says "or more".
      stage.table.put(finishedRow('seen', 'done'));
      await page.waitForFunction(() => document.querySelector('.tabs')?.textContent?.includes('done 1+'));
    });

    it('says so when the connection is lost: since when, with every action off and every clock still', async () => {
      const stage = await start([usedUp('invoice', Date.now()), running('busy', Date.now(), 50_000)]);
      const page = await open(stage);
      await row(page, 'busy', 'running').waitFor();
      await stage.console.stop();
      const banner = page.getByRole('alert');
      await banner.waitFor();
      expect(await banner.textContent()).toMatch(/^Connection lost.* from \d\d:\d\d:\d\d/);
      const isGray = (part: string) =>
        page.locator(part).evaluate((element) => getComputedStyle(element).filter === 'grayscale(1)');
      expect([await isGray('.layout'), await isGray('.health')]).toEqual([true, true]);
      const clocks = () => page.locator('.row .lease-text, .row .ran, .row .when').allTextContents();
      const before = await clocks();
      const plot = () =>
        page
          .locator('.plot-box')
          .first()
          .evaluate((drawing) => drawing.innerHTML);
      const drawn = await plot();
      await page.waitForTimeout(1_600);
      expect(await clocks()).toEqual(before);
      expect(await plot()).toBe(drawn);
      await row(page, 'invoice').getByRole('checkbox').check();
      expect(await page.getByRole('button', { name: 'revive 1' }).isDisabled()).toBe(true);
      expect(await problemsOf(page)).toEqual([]);
    });

    it('says so when the table cannot be read, and goes on when it can', async () => {
      const stage = await start([usedUp('invoice', Date.now())]);
      const page = await open(stage, '#/jobs/invoice');
      const revive = page.getByRole('button', { name: 'revive' });
      await revive.waitFor();
      const { query } = stage.table;
      stage.table.query = () => Promise.reject(new Error('no credentials'));
      await page.getByText('The table cannot be read: no credentials').waitFor();
      expect(await revive.isDisabled()).toBe(true);
      stage.table.query = query;
      await page.getByRole('alert').waitFor({ state: 'detached' });
      expect(await revive.isEnabled()).toBe(true);
    });

    it('tells who was let in by a console before this one to open the new link', async () => {
      const stage = await start();
      const page = await open(stage);
      await stage.console.stop();
      await start([], { port: stage.console.port });
      await page.getByText('open the link that the terminal shows now').waitFor();
    });
  });

  describe('errors first', () => {
    it('opens a failed job with its error, the stack readable, and each attempt with its own', async () => {
      const stage = await start([usedUp('invoice', Date.now())]);
      const page = await open(stage, '#/jobs/invoice');
      const failure = page.getByRole('region', { name: 'Attempts used up: 3 of 3' });
      await failure.getByText('TypeError: fetch failed').waitFor();
      await failure.getByText('caused by Error: connect ECONNREFUSED').waitFor();
      await failure.getByText('then revive it').waitFor();
      const above = (a: string, b: string) =>
        page.evaluate(
          ([first, second]) =>
            (document.querySelector(first as string)?.getBoundingClientRect().top ?? 0) <
            (document.querySelector(second as string)?.getBoundingClientRect().top ?? 0),
          [a, b],
        );
      expect(await above('.failure', '.attempts')).toBe(true);
      // Folded, it shows the first line that is not a library's; unfolded, every line by itself.
      const stack = failure.locator('details').first();
      expect(await stack.locator('summary').innerText()).toContain(
        'at async callPartner (/app/src/partner.ts:41:17)',
      );
      await stack.locator('summary').click();
      expect(await stack.locator('li').allTextContents()).toEqual(
        STACK.split('\n')
          .slice(1, 4)
          .map((line) => line.trim()),
      );
      await failure.getByRole('button', { name: 'Copy the error' }).click();
      await failure.getByText('copied').waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(STACK);
      const attempts = await page
        .locator('.attempt')
        .evaluateAll((items) =>
          items.map((item) => [
            item.getAttribute('data-attempt'),
            item.querySelector('.lane-outcome')?.textContent,
            item.querySelector('.lane-cause')?.textContent ?? '',
          ]),
        );
      expect(attempts).toEqual([
        ['1', 'error', 'Error: partner answered 503'],
        ['2', 'worker lost', ''],
        ['3', 'error', 'TypeError: fetch failed'],
      ]);
      expect(await problemsOf(page)).toEqual([]);
    });

    it('tells a NonRetryableError and a quarantine apart, with the cause of each crash', async () => {
      const stage = await start([notRetried('import-3', Date.now()), quarantined('resize-9', Date.now())]);
      const page = await open(stage, '#/jobs/import-3', { colorScheme: 'dark' });
      await page
        .getByRole('heading', { name: 'Not retried: its handler threw a NonRetryableError' })
        .waitFor();
      await goTo(page, '#/jobs/resize-9');
      await page.getByRole('heading', { name: 'Quarantined: it crashed 3 times' }).waitFor();
      expect(await page.locator('.attempt .lane-outcome').allTextContents()).toEqual([
        'crashed',
        'crashed',
        'crashed',
      ]);
      expect(await page.locator('.lane-cause').allTextContents()).toEqual([
        'out of memory (heap)',
        'unhandled rejection: Error: no space left',
        'out of memory (heap)',
      ]);
      expect(await problemsOf(page)).toEqual([]);
    });
  });

  it('shows recovery in the list: who is lost and when it is reclaimed, and what runs again after what', async () => {
    const now = Date.now();
    const stage = await start([
      running('silent', now, -500),
      running('again', now, 50_000, { attempt: 2, crashes: 1, lastError: 'crashed: out of memory' }),
      running('steady', now, 50_000, { progress: '{"step":4,"of":10}', checkpointSeq: 4 }),
      jobRow('later', { attempt: 1, errors: 1, lastError: 'Error: 503', notBefore: now + 3_600_000 }),
    ]);
    const page = await open(stage);
    await row(page, 'silent')
      .getByText(/worker lost · reclaim (in \d+ s|due)/)
      .waitFor();
    await row(page, 'again').getByText('crashed: out of memory · running again').waitFor();
    await row(page, 'steady').getByText('progress 40 %').waitFor();
    expect(await row(page, 'steady').locator('.lease').textContent()).toMatch(/^lease\d+ s$/);
    await row(page, 'later').getByText('Error: 503 · due in 59 min').waitFor();
    expect((await page.getByRole('columnheader').allTextContents()).slice(1)).toEqual([
      'state',
      'job',
      'what happens',
      'attempts',
      'ran',
      'changed ↓',
    ]);
    expect(await problemsOf(page)).toEqual([]);
  });

  describe('acting on many', () => {
    it('revives what a filter leaves, after a question that names the number, and says what was refused', async () => {
      const mail = (i: number) =>
        finishedRow(`mail-${i}`, 'failed', { type: 'mail', errors: 5, lastError: `Error: SMTP ${i}` });
      const stage = await start([
        ...Array.from({ length: 130 }, (_, i) => mail(i)),
        notRetried('import-3', Date.now()),
      ]);
      const page = await open(stage);
      await tab(page, 'failed 131').click();
      await page.getByLabel('Show jobs by error').selectOption('Error: SMTP #');
      await page.getByText('130 jobs', { exact: true }).waitFor();
      await page.getByLabel('Select all jobs that are listed').check();
      await page.getByRole('button', { name: 'revive 130' }).click();
      const question = page.getByRole('dialog', { name: 'Revive 130 jobs?' });
      await question.getByText('and 124 more').waitFor();
      expect(await problemsOf(page)).toEqual([]);
      await question.getByRole('button', { name: 'Back' }).click();
      expect(stage.hints).toEqual([]);
      await page.getByRole('button', { name: 'revive 130' }).click();
      // One of them changes after it was asked about: each write is under its own condition.
      stage.table.put(finishedRow('mail-7', 'done'));
      await question.getByRole('button', { name: 'revive 130 jobs' }).click();
      await page.getByText('129 jobs revived, 1 refused: Cannot revive a done job').waitFor();
      expect(stage.hints).toHaveLength(129);
      await tab(page, 'failed 1').waitFor();
      expect((await stage.store.read('import-3'))?.status).toBe('failed');
    });

    it('revives all that match, listed or not', async () => {
      const mail = (i: number) => finishedRow(`mail-${i}`, 'failed', { type: 'mail', errors: 5 });
      const stage = await startAccount(
        [...Array.from({ length: 30 }, (_, i) => mail(i)), notRetried('import-3', Date.now())],
        { rhythm: { ...OFTEN, failuresEveryMs: 3_600_000 } },
      );
      const page = await open(stage, '#/?status=failed&type=mail');
      await page.getByText('30 jobs', { exact: true }).waitFor();
      for (let i = 30; i < 50; i++) stage.table.put(mail(i));
      await page.getByLabel('Select all jobs that are listed').check();
      await page.getByRole('button', { name: 'revive all 30 that match' }).click();
      const question = page.getByRole('dialog', { name: 'Revive all 30 that match?' });
      await question.getByText('Every failed job, of type mail.').waitFor();
      expect(await problemsOf(page)).toEqual([]);
      await question.getByRole('button', { name: 'revive all 30 that match' }).click();
      await page.getByText('50 jobs revived').waitFor();
      expect(stage.hints).toHaveLength(50);
      expect((await stage.store.read('import-3'))?.status).toBe('failed');
    });

    it('stops halfway when asked to', async () => {
      const failed = (i: number) =>
        finishedRow(`mail-${i}`, 'failed', { errors: 5, lastError: 'Error: 421' });
      const stage = await start(Array.from({ length: 600 }, (_, i) => failed(i)));
      const page = await open(stage, '#/?status=failed');
      await page.getByText('600 jobs', { exact: true }).waitFor();
      await page.getByLabel('Select all jobs that are listed').check();
      await page.getByRole('button', { name: 'revive 600' }).click();
      const question = page.getByRole('dialog');
      await question.getByRole('button', { name: 'revive 600 jobs' }).click();
      await question.getByText(/^[1-9]\d* of 600/).waitFor();
      await question.getByRole('button', { name: 'Stop' }).click();
      await page.getByText(/^\d+ jobs? revived$/).waitFor();
      expect(stage.hints.length).toBeGreaterThan(0);
      expect(stage.hints.length).toBeLessThan(600);
    });

    it('cancels a range that was selected with Shift', async () => {
      const stage = await start(Array.from({ length: 6 }, (_, i) => jobRow(`wait-${i}`)));
      const page = await open(stage, '#/?sort=job');
      await row(page, 'wait-1').getByRole('checkbox').check();
      await row(page, 'wait-4')
        .getByRole('checkbox')
        .click({ modifiers: ['Shift'] });
      await page.getByRole('button', { name: 'cancel 4' }).click();
      await page.getByRole('button', { name: 'cancel 4 jobs' }).click();
      await page.getByText('4 jobs cancelled').waitFor();
      expect(
        await Promise.all([0, 1, 4, 5].map(async (i) => (await stage.store.read(`wait-${i}`))?.status)),
      ).toEqual(['pending', 'cancelled', 'cancelled', 'pending']);
    });

    it('keeps filter, search and order in the address, where a new tab finds them', async () => {
      const stage = await start([
        usedUp('invoice', Date.now()),
        finishedRow('other', 'failed', { type: 'send-invoice', lastError: 'Error: fetch was fine' }),
      ]);
      const page = await open(stage);
      await tab(page, 'failed 2').click();
      await page.getByRole('searchbox').pressSequentially('fetch failed');
      await row(page, 'other').waitFor({ state: 'detached' });
      expect(await page.locator('.row').count()).toBe(1);
      expect(await page.getByRole('searchbox').inputValue()).toBe('fetch failed');
      await page.getByRole('columnheader', { name: 'attempts' }).getByRole('button').click();
      await page.getByLabel('Show jobs by type').selectOption('send-invoice');
      expect(page.url()).toContain('#/?status=failed&type=send-invoice&q=fetch+failed&sort=attempts');

      const second = await page.context().newPage();
      await second.goto(page.url());
      await row(second, 'invoice').waitFor();
      expect(await second.getByRole('searchbox').inputValue()).toBe('fetch failed');
      await second.goto(`http://127.0.0.1:${stage.console.port}/#/jobs/invoice`);
      await second.getByRole('heading', { name: 'Attempts used up' }).waitFor();
      await expect.poll(() => second.title()).toBe('invoice · failed · Leasehold');
      // A click with Control opens the job in another tab.
      const [opened] = await Promise.all([
        page.context().waitForEvent('page'),
        row(page, 'invoice')
          .getByRole('link')
          .click({ modifiers: ['Control'] }),
      ]);
      await opened.getByRole('heading', { name: 'Attempts used up' }).waitFor();
      await page.bringToFront();
      await row(page, 'invoice').click();
      await page.getByRole('heading', { name: 'Attempts used up' }).waitFor();
      await page.getByRole('button', { name: 'Back to the list' }).click();
      expect(await page.getByRole('searchbox').inputValue()).toBe('fetch failed');
    });

    it('sums up by type', async () => {
      const now = Date.now();
      const times = { startedAt: now - 5_000, finishedAt: now - 3_000 };
      const stage = await start([
        usedUp('invoice', now),
        ...Array.from({ length: 10 }, (_, i) =>
          finishedRow(`thumb-${i}`, 'done', { type: 'thumb', ...times }),
        ),
      ]);
      const page = await open(stage, '#/types');
      const line = page.getByRole('row', { name: /^thumb/ });
      await line.waitFor();
      await expect
        .poll(() => line.locator('td').allTextContents())
        .toEqual(['0', '0', '0', '0', '10+', expect.any(String), '2 s', expect.stringMatching(/^pause/)]);
      expect(await problemsOf(page)).toEqual([]);
      await page
        .getByRole('row', { name: /^send-invoice/ })
        .getByRole('link', { name: '1' })
        .click();
      await row(page, 'invoice').waitFor();
      expect(page.url()).toContain('status=failed&type=send-invoice');
    });
  });

  it('pauses and resumes a type, each after a question', async () => {
    const stage = await start([jobRow('letter', { type: 'mail' })]);
    const types = new Map([['mail', undefined]]);
    await createControlReader({ table: stage.table, clock: systemClock }).declare(types);
    const isPaused = async () => parseControl(await stage.table.read(CONTROL_KEY)).paused.has('mail');
    const page = await open(stage, '#/types');
    const line = page.getByRole('row', { name: /^mail/ });
    await line.getByRole('button', { name: 'pause mail' }).click();
    const question = page.getByRole('dialog', { name: 'Pause mail?' });
    await question.getByText('Running ones continue').waitFor();
    expect(await problemsOf(page)).toEqual([]);
    await question.getByRole('button', { name: 'Back' }).click();
    expect(await isPaused()).toBe(false);
    await line.getByRole('button', { name: 'pause mail' }).click();
    await question.getByRole('button', { name: 'pause', exact: true }).click();
    await line.getByText(/^paused /).waitFor();
    expect(await isPaused()).toBe(true);
    await line.getByRole('button', { name: 'resume mail' }).click();
    await page
      .getByRole('dialog', { name: 'Resume mail?' })
      .getByRole('button', { name: 'resume', exact: true })
      .click();
    await line.getByRole('button', { name: 'pause mail' }).waitFor();
    expect(await isPaused()).toBe(false);
  });

  it('names the pool of each worker that has one', async () => {
    const worker = (pid: number, pool?: string) => ({
      ...{ name: `process ${pid}`, pid, pool, state: 'idle' as const, since: Date.now(), jobs: [] },
    });
    const workers = () => [worker(101), worker(102, 'render')];
    const local: LocalWorkers = {
      workers,
      signal: () => true,
      killCell: async () => true,
      connect: () => () => {},
    };
    const page = await open(await start([], { local }));
    await expect
      .poll(() => page.locator('.worker-name').allTextContents())
      .toEqual(['process 101', 'process 102 · pool render']);
  });

  describe('health', () => {
    const reaper = () => ({
      ...{ jobId: 'leader:reaper', wake: 'a', wakeAt: Date.now() + 60_000, ledAt: Date.now() - 2_000 },
      ...{ holder: 'r', term: 1, shards: 2 },
    });
    const item = (page: Page, name: string) => page.locator(`.strip li[data-name="${name}"]`);

    it('says that no worker takes the messages, instead of that there are no jobs', async () => {
      const queueDepth = async () => ({ visible: 501, inFlight: 0, delayed: 0 });
      const stage = await start([reaper()], { queueDepth, queueAge: async () => 125_000 });
      const page = await open(stage);
      await page.getByText('501 messages wait, the oldest for 2 min 5 s, and no worker takes them').waitFor();
      expect(await page.locator('.health').getAttribute('data-state')).toBe('down');
      await page.getByText('501 messages wait in the queue').waitFor();
      expect(await page.getByText('There are no jobs yet').count()).toBe(0);
      await item(page, 'waiting').getByRole('link').click();
      await page.getByText('SQS counts them approximately').waitFor();
      expect(await problemsOf(page)).toEqual([]);
    });

    it.each([1440, 1024, 390])(
      'fits %i pixels with every count and tab in sight, and no lease over its progress',
      async (width) => {
        const stage = await start(
          [
            reaper(),
            usedUp('invoice-2026-000117', Date.now()),
            running('busy-with-a-long-name-2026-11', Date.now(), 50_000, { progress: '{"step":4,"of":10}' }),
          ],
          { where: { service: 'billing', region: 'eu-central-1', account: '123456789012' } },
        );
        const page = await open(stage, undefined, { viewport: { width, height: 860 } });
        await row(page, 'busy-with-a-long-name-2026-11').getByText('progress 40 %').waitFor();
        await page.getByText('123456789012 · eu-central-1').waitFor();
        await page.getByText('billing').waitFor();
        expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
        for (const name of ['failed 1', 'cancelled']) {
          const box = await tab(page, name).boundingBox();
          expect((box?.x ?? width) + (box?.width ?? 1)).toBeLessThanOrEqual(width);
        }
        const [lease, progress] = await Promise.all(
          ['.lease', '.progress'].map((part) => page.locator(`.row ${part}`).first().boundingBox()),
        );
        expect((lease?.x ?? 0) + (lease?.width ?? 0)).toBeLessThanOrEqual(progress?.x ?? 0);
        expect(await problemsOf(page)).toEqual([]);
      },
    );

    it('has an hour of history with counted bars, and the value under the pointer', async () => {
      const stage = await start([reaper()]);
      const now = Date.now();
      for (const agoMs of [600_000, 600_000, 1_200_000])
        stage.console.watcher.trend.count('reclaimed', now - agoMs, now);
      const page = await open(stage);
      const plot = page.locator('.plot', { hasText: 'Lost workers' });
      await plot.getByText('reclaimed 3').waitFor();
      await plot.locator('.plot-box').hover();
      await plot.locator('time').waitFor();
      await page.getByRole('button', { name: 'day', exact: true }).click();
      await plot.getByText('reclaimed 3').waitFor();
    });
  });

  describe('in an account with many failures', () => {
    const many = () => [
      ...Array.from({ length: 658 }, (_, i) =>
        finishedRow(`old-${i}`, 'failed', {
          ...{ type: 'send-invoice', errors: 5, finishedAt: Date.now() - 9e6 - i, lastError: 'Error: 503' },
        }),
      ),
      ...Array.from({ length: 220 }, (_, i) =>
        finishedRow(`new-${i}`, 'failed', { type: 'resize', errors: 5, lastError: 'Error: disk full' }),
      ),
    ];

    it('finds the old ones by type, and reads on for their errors', async () => {
      const stage = await startAccount(many());
      const page = await open(stage, '#/?status=failed&type=send-invoice');
      await page.getByText('658 jobs', { exact: true }).waitFor();
      await goTo(page, '#/types');
      await page
        .getByRole('row', { name: /^send-invoice/ })
        .getByRole('link', { name: '658' })
        .waitFor();
      await goTo(page, `#/?status=failed&error=${encodeURIComponent('Error: #')}`);
      await row(page, 'old-0').waitFor();
      expect(await page.getByText('No job matches').count()).toBe(0);
      await page.getByText('658 jobs', { exact: true }).waitFor();
    });

    it('revives all that match until its question is closed', async () => {
      const stage = await startAccount(many());
      const page = await open(stage, '#/?status=failed&type=send-invoice');
      await page.getByText('658 jobs', { exact: true }).waitFor();
      await page.getByLabel('Select all jobs that are listed').check();
      await page.getByRole('button', { name: 'revive all 658 that match' }).click();
      const question = page.getByRole('dialog', { name: 'Revive all 658 that match?' });
      await question.getByRole('button', { name: 'revive all 658 that match' }).click();
      await question.getByText(/^[1-9]\d* of 658/).waitFor();
      await page.keyboard.press('Escape');
      await page.getByText(/^\d+ jobs? revived$/).waitFor();
      expect(stage.hints.length).toBeGreaterThan(0);
      expect(stage.hints.length).toBeLessThan(658);
      expect((await stage.store.read('new-0'))?.status).toBe('failed');
    });
  });

  it('shows hostile types, errors and owners as text in list, menus, questions and pages', async () => {
    const hostile = '"><img src=x onerror="globalThis.hit = 1"><script>globalThis.hit = 1</script>';
    const stage = await start([
      finishedRow('hostile', 'failed', {
        ...{
          type: hostile,
          lastError: `${hostile}\n    at ${hostile}`,
          leaseOwner: `${hostile}/x`,
          errors: 5,
        },
        claim01: { attempt: 1, owner: hostile, from: 1, to: 2, outcome: hostile, cause: hostile },
      }),
      running('held', Date.now(), 60_000, {
        leaseOwner: `${hostile}/y`,
        lastError: hostile,
        attempt: 2,
        errors: 1,
      }),
    ]);
    const page = await open(stage);
    await row(page, 'hostile').getByRole('checkbox').check();
    await page.getByRole('button', { name: 'revive 1' }).click();
    await page.getByRole('dialog').getByText('<img src=x').waitFor();
    await page.keyboard.press('Escape');
    await goTo(page, '#/types');
    await page.getByRole('row', { name: /<img/ }).waitFor();
    await goTo(page, '#/jobs/hostile');
    await page.locator('.failure').getByText('<script>').first().waitFor();
    await goTo(page, `#/jobs/${encodeURIComponent(hostile)}`);
    await page.getByText('There is no such job').waitFor();
    expect(await page.title()).toContain('<img src=x');
    await goTo(page, `#/?type=${encodeURIComponent(hostile)}&error=${encodeURIComponent(hostile)}&q=<img>`);
    await page.getByText('No job matches').waitFor();
    expect(await page.locator('img, script:not([src])').count()).toBe(0);
    expect(await page.evaluate(() => 'hit' in globalThis)).toBe(false);
  });

  describe('anywhere', () => {
    it('reads ids in full and states as words on a phone, and nothing runs over its edge', async () => {
      const stage = await start([
        usedUp('invoice-2026-000117-customer-a8f3', Date.now()),
        running('busy', Date.now(), 50_000, { progress: '0.4' }),
      ]);
      const page = await open(stage, undefined, {
        viewport: { width: 390, height: 844 },
        hasTouch: true,
      });
      const phoneRow = row(page, 'invoice-2026-000117-customer-a8f3');
      await phoneRow.waitFor();
      const id = phoneRow.locator('.id');
      expect(await id.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
      expect(await phoneRow.locator('.state').innerText()).toContain('failed');
      const places = {
        '#/jobs/invoice-2026-000117-customer-a8f3': page.getByRole('heading', { name: 'Attempts used up' }),
        '#/types': page.getByRole('row', { name: /^send-invoice/ }),
        '#/?status=queued': page.getByText('134 messages wait'),
        '#/': phoneRow,
      };
      for (const [fragment, shown] of Object.entries(places)) {
        await goTo(page, fragment);
        await shown.waitFor();
        expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
        expect(await problemsOf(page)).toEqual([]);
      }
    });

    it('says what to do next where there is nothing, and tells times in 24 hours', async () => {
      const queueDepth = async () => ({ visible: 0, inFlight: 0, delayed: 0 });
      const stage = await start([], { queueDepth, send: () => "npx leasehold send resize '{}'" });
      const page = await open(stage);
      await page.getByText('No job is waiting, running or failed').waitFor();
      await page.getByText("npx leasehold send resize '{}'").waitFor();
      expect(await problemsOf(page)).toEqual([]);
      const evening = Date.UTC(2026, 0, 2, 21, 4, 5);
      stage.table.put(finishedRow('evening', 'failed', { finishedAt: evening, createdAt: evening }));
      await row(page, 'evening').waitFor();
      expect(await row(page, 'evening').locator('.when').getAttribute('title')).toContain('21:04:05');
      await row(page, 'evening').click();
      await page.getByText('Jan 2, 2026, 21:04:05').waitFor();
      expect(await page.locator('body').innerText()).not.toMatch(/\b[AP]M\b/);
    });
  });
});
