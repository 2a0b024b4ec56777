import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { localEnvironment } from '../../lib/tools/dev/local-environment.ts';
import { chromiumPath, launchChromium, noBrowserReason } from '../support/browser.ts';
import { isDeep } from '../support/depth.ts';
import { sqsClient } from '../support/engines.ts';
import { type LocalConsole, startLocalConsole } from '../support/local-console.ts';
import { problemsOf } from '../support/page-problems.ts';

// Runtime-evaluated: without a browser there is no page to look at, and the reason is in the suite's title.
const title =
  chromiumPath === undefined ? `the console's page (skipped: ${noBrowserReason})` : "the console's page";

describe.skipIf(chromiumPath === undefined)(title, () => {
  let browser: Browser;
  /** One for all tests: a context of its own costs a test more than its page does. */
  let context: BrowserContext;
  let local: LocalConsole;
  const complaints: string[] = [];

  beforeAll(async () => {
    [browser, local] = await Promise.all([launchChromium(), startLocalConsole()]);
    // What moves all the time is drawn all the time, which a machine without a graphics card feels.
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    context.setDefaultTimeout(150_000);
  });
  afterAll(async () => {
    await browser?.close();
    await local?.stop();
  });
  afterEach(async () => {
    await Promise.all(context.pages().map((page) => page.close()));
    expect(complaints.splice(0)).toEqual([]);
  });

  // On a busy machine a job may lose its lease more often than a test wants it to: no job gives up for that.
  const budgets = { maxAttempts: 25, maxCrashes: 25 };
  const send = async (body: object | string) => {
    const client = sqsClient(
      local.stack.endpoints.sqs,
      localEnvironment.clientConfig(local.stack.environment),
    );
    const MessageBody = typeof body === 'string' ? body : JSON.stringify({ ...budgets, ...body });
    await client.send(new SendMessageCommand({ QueueUrl: local.stack.queueUrl, MessageBody }));
    client.destroy();
  };
  const open = async (media: Parameters<Page['emulateMedia']>[0] = {}) => {
    const page = await context.newPage();
    await page.emulateMedia(media);
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    await page.goto(local.console.url);
    await page.getByText('live', { exact: true }).waitFor();
    return page;
  };
  const row = (page: Page, jobId: string, status?: string) =>
    page.locator(`.row[data-job="${jobId}"]${status === undefined ? '' : `[data-status="${status}"]`}`);

  it('shows a worker being killed by its button, and the job coming back', async () => {
    const page = await open();
    await send({ type: 'slow-steps', payload: { steps: 10, stepMs: 400 }, jobId: 'survivor' });
    await row(page, 'survivor', 'running').waitFor();
    const worker = page.locator('.worker', { has: page.getByRole('link', { name: 'survivor' }) });
    const before = local.stack.workers().length;
    // Who clicks twice kills one: the second click meets nobody else.
    await worker.getByRole('button', { name: /^kill worker/ }).dblclick();
    await page.getByText(/SIGKILL sent to/).waitFor();
    await page.locator('.worker', { hasText: 'signal: killed' }).first().waitFor();
    await row(page, 'survivor', 'running')
      .getByText(/^worker lost · (reclaim|running again)/)
      .waitFor();
    expect(local.stack.workers().length).toBeGreaterThanOrEqual(before - 1);
    expect(await page.locator('.worker', { hasText: 'signal: killed' }).count()).toBe(1);
    await row(page, 'survivor', 'done').waitFor();

    await row(page, 'survivor').click();
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await timeline.getByText('the reaper reclaimed the job').first().waitFor();
    const told = (await timeline.locator('.moment-what').allTextContents()).join(' | ');
    expect(told).toMatch(
      /claimed by.*the reaper reclaimed the job.*fenced: later writes.*claimed by.*its handler returned.*done/,
    );
    expect(await page.locator('.lane').count()).toBeGreaterThanOrEqual(2);
    expect(await page.locator('.lane-outcome').first().textContent()).toBe('worker lost');
  });

  it.runIf(isDeep)(
    "shows a worker's cells, and a job that runs again after its cell was killed",
    async () => {
      const page = await open();
      await send({ type: 'slow-steps', payload: { steps: 1000, stepMs: 200 }, jobId: 'in-a-cell' });
      await row(page, 'in-a-cell', 'running').waitFor();
      const worker = page.locator('.worker', { has: page.getByRole('link', { name: 'in-a-cell' }) });
      const cells = worker.getByRole('button', { name: /^kill cell/ });
      // The buttons are folded away.
      await worker.locator('.cells summary').click();
      await cells.first().waitFor();
      const ranAgain = row(page, 'in-a-cell', 'running').getByText(
        /^crashed(, not charged)?: killed .* · running again$/,
      );
      // Which of them has the job is its host's to know: one is a spare. A click where another cell's button was a moment ago does
      // nothing, so one of them may be left after a round.
      while (!(await ranAgain.isVisible())) {
        const labels = await cells.evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')));
        for (const name of labels) {
          const button = page.getByRole('button', { name: name ?? '', exact: true });
          if (await button.isVisible()) await button.click({ timeout: 5_000 }).catch(() => {});
        }
        await ranAgain.waitFor({ timeout: 5_000 }).catch(() => {});
      }
      await local.store.cancel('in-a-cell');
    },
  );

  it.runIf(isDeep)('pauses and resumes a worker', async () => {
    const page = await open();
    await send({ type: 'slow-steps', payload: { steps: 30, stepMs: 200 }, jobId: 'paused-a-while' });
    const worker = page.locator('.worker', { has: page.getByRole('link', { name: 'paused-a-while' }) });
    await worker.getByRole('button', { name: /^pause/ }).click();
    const resume = worker.getByRole('button', { name: /^resume/ });
    await resume.waitFor();
    // By the keyboard: a second click at the same spot would be taken for the first one's.
    await resume.press('Enter');
    await worker.getByRole('button', { name: /^pause/ }).waitFor();
  });

  it.runIf(isDeep)('is worked by the keyboard alone', async () => {
    const page = await open();
    await send({ type: 'count-primes', payload: { below: 10 }, jobId: 'typed-for' });
    await row(page, 'typed-for', 'done').waitFor();
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('typed-for');
    await expect.poll(() => page.locator('.row').count()).toBe(1);
    // Past the menus of type, error and time, and the heads of the list.
    const isOnJob = () => page.evaluate(() => document.activeElement?.textContent === 'typed-for');
    while (!(await isOnJob())) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'typed-for' }).waitFor();
    await page.getByRole('button', { name: 'Back to the list' }).press('Enter');
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
  });

  it.runIf(isDeep).each(['light', 'dark'] as const)(
    'has nothing that axe finds in %s colors',
    async (colorScheme) => {
      const page = await open({ colorScheme });
      await page.locator('.row').first().waitFor();
      expect(await problemsOf(page)).toEqual([]);
    },
  );

  it('says what to do where the token is missing', async () => {
    const stranger = await browser.newContext();
    const page = await stranger.newPage();
    await page.goto(`http://127.0.0.1:${local.console.port}/`);
    await page.getByText('Open the link that was printed in the terminal').waitFor();
    expect(await page.locator('.row').count()).toBe(0);
    await stranger.close();
  });
});
