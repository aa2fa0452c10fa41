import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium, missingChromium } from './chromium.ts';

const missing = missingChromium();
/** Why tests in a browser are skipped here; undefined: they run. */
export const withoutBrowser: string | undefined = missing && `skipped: ${missing}`;

export interface BrowserFixture {
  /** A page of a browser without history, cookies or storage; everything that it reports is held against `faults`. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** A browser context, for several pages that share cookies and storage. */
  context(options?: BrowserContextOptions): Promise<BrowserContext>;
  /**
   * What pages reported so far: errors in the console, exceptions, violations of the Content-Security-Policy, requests
   * to other origins than the service's.
   */
  faults: readonly string[];
  /**
   * Forgets faults that a test provoked, such as the failed requests of a network that it cut, also those that pages
   * which are open now will report: a call may fail once more before its page is closed.
   */
  forgive(pattern: RegExp): void;
}

/**
 * A Chromium for the tests of a file or suite, headless, which can reach this machine only. After the last test no page
 * may have reported a fault. Call it before `useService`: pages that outlive the service report that they cannot reach it.
 */
export function useBrowser(take: (browser: BrowserFixture) => void): void {
  if (withoutBrowser !== undefined) return;
  const profile = mkdtempSync(join(tmpdir(), 'browser-'));
  let end: () => Promise<void> = async () => undefined;
  const faults: string[] = [];
  before(async () => {
    const browser = await launchChromium(profile);
    end = () => browser.close();
    const forgivenByContext = new Set<RegExp[]>();
    const fixture: BrowserFixture = {
      faults,
      forgive(pattern) {
        const others = faults.filter((fault) => !pattern.test(fault));
        faults.splice(0, faults.length, ...others);
        for (const forgiven of forgivenByContext) forgiven.push(pattern);
      },
      async context(options) {
        const context = await browser.newContext(options);
        const forgiven: RegExp[] = [];
        forgivenByContext.add(forgiven);
        context.on('close', () => forgivenByContext.delete(forgiven));
        const report = (fault: string): void => {
          if (!forgiven.some((pattern) => pattern.test(fault))) faults.push(fault);
        };
        // Several browsers share two processors with the stores of other tests.
        context.setDefaultTimeout(60_000);
        context.on('console', (message) => {
          // A live connection that is refused is named as other calls are.
          const text = message.text().replace(/HTTP Authentication failed.*/, 'status of 401');
          if (message.type() === 'error') report(`console: ${text} ${message.location().url}`);
        });
        context.on('weberror', (error) => report(`exception: ${error.error().stack ?? error.error()}`));
        context.on('request', (request) => {
          const { protocol, hostname } = new URL(request.url());
          if (/^https?:$/.test(protocol) && hostname !== '127.0.0.1' && hostname !== 'localhost')
            report(`foreign request: ${request.url()}`);
        });
        return context;
      },
      open: async (options) => (await fixture.context(options)).newPage(),
    };
    take(fixture);
  });
  after(async () => {
    await end();
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
    if (faults.length === 0) return;
    // A hook that throws would keep those after it from running, and a service would never be stopped.
    process.exitCode = 1;
    console.error(`Pages reported faults:\n${faults.map((fault) => fault.slice(0, 500)).join('\n')}`);
  });
}
