import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [
  // Without the parts of a browser that only people see: half the processor time.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser for tests of the page: the one that CHROMIUM_PATH names, or the first of the usual places. */
export const chromiumPath: string | undefined = [process.env.CHROMIUM_PATH, ...PLACES].find(
  (path) => path !== undefined && path !== '' && existsSync(path),
);

/** Said next to the suites that are skipped without one. */
export const noBrowserReason =
  'no Chromium here: install it (for example: apt-get install chromium-headless-shell), or name one in CHROMIUM_PATH';

/** Starts the browser so that it reaches for nothing but the page. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--disable-gpu',
      '--in-process-gpu',
    ],
  });

// Reporters leave out the titles of skipped suites, so the reason is said here as well.
if (chromiumPath === undefined) console.warn(`The console's page is not tested: ${noBrowserReason}.`);
