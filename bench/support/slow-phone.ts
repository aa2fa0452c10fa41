import { request as httpRequest } from 'node:http';
import type { Browser } from 'playwright-core';
import { eventually } from '../../test/support/eventually.ts';

/** How a page is told to be there, by CSS selectors. */
export interface PageProbe {
  url: string;
  /** Visible as soon as the first question can be read. */
  question: string;
  /** Two controls of the first question. They are clicked in turn until the page reacts. */
  controls: string;
  /** There as soon as the script of the page has taken an answer; undefined: the page has no script. */
  reaction: string | undefined;
}

export interface PhoneTimes {
  firstQuestionMs: number;
  usableMs: number;
}

/** A slow phone in a slow network: processor 4 times slower than this one, 400 ms round trip, 400 kbit/s. */
const slowPhone = { cpuSlowdown: 4, roundTripMs: 400, kilobitsPerSecond: 400 };
const phone = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

/** Opens a page for the first time: nothing of it is cached. */
export async function timeOnSlowPhone(browser: Browser, probe: PageProbe): Promise<PhoneTimes> {
  const context = await browser.newContext(phone);
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    const bytesPerSecond = (slowPhone.kilobitsPerSecond * 1000) / 8;
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: slowPhone.roundTripMs,
      downloadThroughput: bytesPerSecond,
      uploadThroughput: bytesPerSecond,
    });
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowPhone.cpuSlowdown });
    await page.addInitScript({ content: watching(probe) });
    await page.goto(probe.url, { timeout: 120_000 });
    // The browser's own protocol evaluates it: the Content-Security-Policy of a page refuses a function made of text.
    return await eventually(
      async () => {
        const times = (await page.evaluate('window.benchTimes')) as PhoneTimes | undefined;
        if (times === undefined) throw new Error(`${probe.url} did not become usable`);
        return times;
      },
      120_000,
      250,
    );
  } finally {
    await context.close();
  }
}

/** Runs in the page from its first moment; times count from the beginning of the navigation. */
const watching = ({ question, controls, reaction }: PageProbe): string => `(() => {
  const times = {};
  let clicks = 0;
  let clickedAt = 0;
  const isShown = (element) => element !== null && element.getBoundingClientRect().height > 0;
  const look = () => {
    const now = performance.now();
    if (!times.firstQuestionMs && isShown(document.querySelector(${JSON.stringify(question)})))
      times.firstQuestionMs = now;
    if (times.firstQuestionMs) {
      const reaction = ${JSON.stringify(reaction ?? null)};
      if (reaction === null || document.querySelector(reaction)) {
        times.usableMs = now;
        window.benchTimes = times;
        return;
      }
      const found = document.querySelectorAll(${JSON.stringify(controls)});
      if (found.length > 1 && now - clickedAt > 100) {
        clickedAt = now;
        found[clicks++ % 2].click();
      }
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();`;

export interface LoadedBytes {
  script: number;
  all: number;
  requests: number;
}

/** Bytes of all that a page loads until the network is quiet, compressed with gzip. */
export async function loadedBytes(browser: Browser, url: string, wait: string): Promise<LoadedBytes> {
  const context = await browser.newContext(phone);
  const urls = new Map<string, string>();
  try {
    const page = await context.newPage();
    page.on('response', (response) => {
      if (/^https?:/.test(response.url())) urls.set(response.url(), response.request().resourceType());
    });
    await page.goto(url);
    await page.locator(wait).first().waitFor();
    await page.waitForLoadState('networkidle');
  } finally {
    await context.close();
  }
  let [script, all] = [0, 0];
  for (const [address, kind] of urls) {
    if (!['document', 'script', 'stylesheet', 'font', 'image'].includes(kind)) continue;
    const bytes = await gzipBytes(address);
    all += bytes;
    if (kind === 'script') script += bytes;
  }
  return { script, all, requests: urls.size };
}

/** Bytes of a body as sent to a client that takes gzip. */
function gzipBytes(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { headers: { 'accept-encoding': 'gzip' } }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('end', () => resolve(bytes));
    });
    request.on('error', reject);
    request.end();
  });
}
