import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before } from 'node:test';
import type { FrameLocator, Page } from 'playwright-core';
import { type BrowserFixture, useBrowser } from './browser.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { publishedSurvey } from './page-fixture.ts';
import type { RunningService } from './service.ts';
import { type ServiceFixture, useService } from './use-service.ts';

export interface EmbeddingFixture extends ServiceFixture {
  browser: BrowserFixture;
  /** Of a site that surveys allow, and of one that they do not: the same pages on another port. */
  origin: string;
  otherOrigin: string;
}

/**
 * A service, a browser and sites that embed surveys, for the tests of a suite: `take` is given them before the first
 * test; `env` are settings of the service.
 */
export function useEmbedding(take: (opened: EmbeddingFixture) => void, env: Record<string, string> = {}) {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let site: Server;
  let origin: string;
  let otherSite: Server;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served), { env });

  /**
   * A site whose policy allows no style elements, inline scripts in given HTML alone, and that notes what the script
   * tells it.
   */
  const startSite = async (): Promise<{ server: Server; origin: string }> => {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
      if (pathname === '/note.js') {
        response.writeHead(200, { 'content-type': 'text/javascript' });
        return void response.end(
          'window.heard = []; for (const name of ["ready", "unavailable", "refused", "open", "close", "outcome"]) document.addEventListener("survey:" + name, ({ detail }) => window.heard.push({ name, ...detail }));',
        );
      }
      const attributes = [...searchParams].map(([name, value]) => `data-${name}="${value}"`).join(' ');
      const code = pathname === '/code' ? searchParams.get('html') : null;
      const embedding = code ?? `<script src="${service.origin}/embed.js" ${attributes}></script>`;
      const inline = code === null ? '' : "'unsafe-inline'";
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': `default-src 'none'; img-src data:; script-src 'self' ${inline} ${service.origin}; frame-src ${service.origin}`,
      });
      response.end(
        `<!doctype html><html lang="en"><title>Site</title><link rel="icon" href="data:,"><script src="/note.js"></script><h1>${pathname}</h1><button id="own">Own button</button>${embedding}<p>Below</p></html>`,
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };
  before(async () => {
    ({ server: site, origin } = await startSite());
    const other = await startSite();
    otherSite = other.server;
    take({ service, admin, browser, origin, otherOrigin: other.origin });
  });
  after(() => {
    site?.close();
    otherSite?.close();
  });

  const newSurvey = (appearance = {}) =>
    publishedSurvey(admin, { title: 'Lunch', appearance: { allowedOrigins: [origin], ...appearance } }, [
      { type: 'YES_NO', text: 'Was it good?', isRequired: true },
      { type: 'LONG_TEXT', text: 'What should change?' },
    ]);
  const heard = (page: Page): Promise<{ name: string; [field: string]: unknown }[]> =>
    page.evaluate('window.heard') as Promise<{ name: string }[]>;
  const waitFor = (page: Page, name: string) =>
    eventually(async () => {
      const found = (await heard(page)).find((event) => event.name === name);
      assert.ok(found, `the page has heard of ${name}`);
      return found;
    });
  const answer = async (frame: FrameLocator) => {
    await frame.getByRole('radio', { name: 'Yes' }).check();
    await frame.locator('.button-primary').click();
    await frame.locator('[data-notice="thanks"]').waitFor();
  };
  const visit = async (
    from: string,
    attributes: Record<string, string>,
    extraHTTPHeaders: Record<string, string> = {},
  ): Promise<Page> => {
    const page = await browser.open({ viewport: { width: 800, height: 600 }, extraHTTPHeaders });
    await page.goto(`${from}/page?${new URLSearchParams(attributes)}`);
    return page;
  };
  const visitWith = async (html: string): Promise<Page> => {
    const page = await browser.open();
    await page.goto(`${origin}/code?${new URLSearchParams({ html })}`);
    return page;
  };
  return { newSurvey, heard, waitFor, answer, visit, visitWith };
}
