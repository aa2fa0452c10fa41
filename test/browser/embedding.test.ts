import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { FrameLocator, Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { examplesOf } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { publishedSurvey, storedResponses } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const callsAMinute = 1000;

describe('a survey in a page of another site', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let site: Server;
  /** Allowed, and not: the same pages on another port. */
  let origin: string;
  let otherSite: Server;
  let otherOrigin: string;
  useBrowser((opened) => (browser = opened));
  // A visitor from an address of their own can use up its limit of calls.
  useService((served) => ({ service, admin } = served), {
    env: { RATE_LIMIT_API: String(callsAMinute), TRUSTED_PROXIES: '127.0.0.1' },
  });

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
    ({ server: otherSite, origin: otherOrigin } = await startSite());
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

  it('stands inline, is as high as its content, and tells how the response ended', async () => {
    const { id } = await newSurvey({ closingText: 'Goodbye.' });
    const page = await visit(origin, { survey: id, 'metadata-source': 'shop' });
    await waitFor(page, 'ready');
    const frame = page.frameLocator('iframe');
    const heights = async () => ({
      frame: (await page.locator('iframe').boundingBox())?.height ?? 0,
      content: (await frame.locator('#page').boundingBox())?.height ?? -1,
    });
    const fits = () =>
      eventually(async () => {
        const { frame: outer, content } = await heights();
        assert.ok(Math.abs(outer - content) <= 1, `${outer} px for ${content} px`);
        return outer;
      });
    const before = await fits();
    assert.equal(await page.locator('iframe').getAttribute('title'), 'Lunch');
    // The error at the question makes the content higher.
    await frame.locator('.button-primary').click();
    await frame.locator('[data-error]').first().waitFor();
    await eventually(async () => assert.ok((await fits()) > before));
    await answer(frame);
    const outcome = await waitFor(page, 'outcome');
    assert.deepEqual(outcome, { name: 'outcome', survey: id, outcome: 'COMPLETED', redirectUrl: null });
    assert.ok((await fits()) < before);
    const [stored] = await storedResponses(admin, id, 1);
    assert.equal(stored?.metadata['source'], 'shop');
    await page.close();
  });

  it('opens in a dialog that Escape closes, inside the frame and outside, and gives the focus back', async () => {
    const { id } = await newSurvey();
    const page = await visit(origin, { survey: id, mode: 'popup', button: 'Tell us', close: 'Shut' });
    const button = page.getByRole('button', { name: 'Tell us' });
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await waitFor(page, 'ready');
    const frame = page.frameLocator('iframe');
    await frame.locator('input[type=radio]').first().focus();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.equal(await button.evaluate((element) => (element as any).getRootNode().activeElement === element), true);
    // The answers so far are still there.
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Shut' }).focus();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await button.click();
    await answer(frame);
    await waitFor(page, 'outcome');
    await page.getByRole('button', { name: 'Shut' }).click();
    await dialog.waitFor({ state: 'hidden' });
    // The browser tells of the end of a dialog a little after it.
    await eventually(async () => {
      const names = (await heard(page)).map(({ name }) => name);
      assert.equal(names.filter((name) => name === 'open').length, 3);
      assert.equal(names.filter((name) => name === 'close').length, 3);
    });
    await page.close();
  });

  it('opens from an element of the page itself', async () => {
    const { id } = await newSurvey();
    const page = await visit(origin, { survey: id, mode: 'popup', open: '#own' });
    await page.getByRole('button', { name: 'Own button' }).click();
    await page.getByRole('dialog').waitFor();
    await waitFor(page, 'ready');
    await page.close();
  });

  it('covers the whole page', async () => {
    const { id } = await newSurvey();
    const page = await visit(origin, { survey: id, mode: 'full' });
    await waitFor(page, 'ready');
    assert.deepEqual(await page.locator('iframe').boundingBox(), { x: 0, y: 0, width: 800, height: 600 });
    await answer(page.frameLocator('iframe'));
    await waitFor(page, 'outcome');
    await page.close();
  });

  it('lets the page around be scrolled again where the frame that covered it is gone', async () => {
    const { id } = await newSurvey();
    const [example = ''] = examplesOf('docs/guide/embedding.md', 'html');
    const page = await visitWith(
      `<script>document.documentElement.style.overflow = 'scroll';</script>${example
        .replaceAll('https://surveys.example.org', service.origin)
        .replace('data-survey="SURVEY_ID"', `data-survey="${id}" data-mode="full"`)}`,
    );
    const overflow = () => page.evaluate('getComputedStyle(document.documentElement).overflowY');
    await page.evaluate(`document.body.style.height = '5000px'`);
    await page.frameLocator('iframe').getByRole('radio', { name: 'Yes' }).check();
    assert.equal(await overflow(), 'hidden');
    await page.frameLocator('iframe').locator('.button-primary').click();
    await page.getByText('Thank you (COMPLETED).').waitFor();
    assert.equal(await overflow(), 'scroll');
    await page.mouse.move(100, 100);
    await eventually(async () => {
      await page.mouse.wheel(0, 300);
      assert.ok(Number(await page.evaluate('scrollY')) > 0);
    });
    await page.close();
  });

  it('covers the page around also in an older browser, whose style sheets are not made by scripts', async () => {
    const { id } = await newSurvey();
    const page = await browser.open();
    await page.addInitScript(`if (window === top) {
      delete window.CSSStyleSheet;
      Object.defineProperty(Document.prototype, 'adoptedStyleSheets', { get: () => Object.freeze([]) });
    }`);
    await page.goto(`${origin}/page?${new URLSearchParams({ survey: id, mode: 'full' })}`);
    await waitFor(page, 'ready');
    assert.equal(await page.evaluate('getComputedStyle(document.documentElement).overflowY'), 'hidden');
    await page.close();
  });

  it('keeps the page around from being scrolled until no frame covers it, whatever its style sheets', async () => {
    const { id } = await newSurvey();
    const code = `<script src="${service.origin}/embed.js" data-survey="${id}" data-mode="full"></script>`;
    const page = await visitWith(`${code}${code}`);
    await eventually(async () => {
      const ready = (await heard(page)).filter(({ name }) => name === 'ready');
      assert.equal(ready.length, 2);
    });
    const overflowAfter = async (script: string) => {
      await page.evaluate(script);
      return page.evaluate('getComputedStyle(document.documentElement).overflowY');
    };
    assert.equal(await overflowAfter('document.adoptedStyleSheets = []'), 'hidden');
    const removeFrame = `document.querySelector('iframe').remove()`;
    assert.equal(await overflowAfter(removeFrame), 'hidden');
    assert.equal(await overflowAfter(removeFrame), 'visible');
    await page.close();
  });

  it('leaves what the page around says of its scrolling while the frame covers it', async () => {
    const { id } = await newSurvey();
    const page = await visit(origin, { survey: id, mode: 'full' });
    await waitFor(page, 'ready');
    await page.evaluate(`document.documentElement.style.overflow = 'clip'`);
    await page.evaluate(`document.querySelector('iframe').remove()`);
    assert.equal(await page.evaluate('document.documentElement.style.overflow'), 'clip');
    await page.close();
  });

  it('tells of an opening once, also where the dialog is asked for while it is open', async () => {
    const { id } = await newSurvey();
    const page = await visit(origin, { survey: id, mode: 'popup', open: '#own' });
    await page.getByRole('button', { name: 'Own button' }).click();
    await waitFor(page, 'ready');
    await page.evaluate(`document.getElementById('own').click()`);
    await page.getByRole('button', { name: 'Close' }).click();
    await waitFor(page, 'close');
    assert.deepEqual(
      (await heard(page)).map(({ name }) => name),
      ['open', 'ready', 'close'],
    );
    await page.close();
  });

  it('lets the page around go on to the survey’s redirect address', async () => {
    const { id } = await newSurvey({ redirectUrl: `${origin}/thanks` });
    const page = await visit(origin, { survey: id });
    await waitFor(page, 'ready');
    await page.frameLocator('iframe').getByRole('radio', { name: 'Yes' }).check();
    await page.frameLocator('iframe').locator('.button-primary').click();
    await page.waitForURL(`${origin}/thanks`);
    await page.close();
  });

  it('tells the outcome, and goes on to the redirect address, also in a browser without URL.canParse', async () => {
    const { id } = await newSurvey({ redirectUrl: `${origin}/thanks` });
    const page = await browser.open();
    await page.addInitScript('delete URL.canParse');
    await page.goto(`${origin}/page?${new URLSearchParams({ survey: id })}`);
    await waitFor(page, 'ready');
    await page.frameLocator('iframe').getByRole('radio', { name: 'Yes' }).check();
    await page.frameLocator('iframe').locator('.button-primary').click();
    await page.waitForURL(`${origin}/thanks`);
    await page.close();
  });

  it('opens in a dialog also in a browser that makes no style sheets by script', async () => {
    const { id } = await newSurvey();
    const page = await browser.open();
    await page.addInitScript(`window.CSSStyleSheet = class { constructor() { throw new TypeError(); } }`);
    await page.goto(`${origin}/page?${new URLSearchParams({ survey: id, mode: 'popup' })}`);
    await page.getByRole('button', { name: 'Take the survey' }).click();
    await waitFor(page, 'ready');
    await page.getByRole('button', { name: 'Close' }).click();
    await waitFor(page, 'close');
    // The policy of this page allows no style elements.
    browser.forgive(/Content Security Policy/);
    await page.close();
  });

  it('tells when there is nothing to answer', async () => {
    const { id } = await newSurvey();
    await admin.put(`/surveys/${id}`, { status: 'CLOSED' });
    const page = await visit(origin, { survey: id });
    assert.equal((await waitFor(page, 'unavailable'))['notice'], 'closed');
    await page.close();
    browser.forgive(/status of 409/);
  });

  it('tells a visitor over the limit of calls why there is nothing to answer', async () => {
    const { id } = await newSurvey();
    const headers = { 'x-forwarded-for': '2001:db8:e:1::1' };
    const look = () => fetch(`${service.origin}/s/nothing`, { headers });
    // Those before the beginning of a minute do not count in it.
    const statuses = async () => (await Promise.all(Array.from({ length: 50 }, look))).map(({ status }) => status);
    let calls = 0;
    for (; !(await statuses()).includes(429); calls += 50) assert.ok(calls < 4 * callsAMinute, 'there is a limit');
    const page = await visit(origin, { survey: id }, headers);
    assert.equal((await waitFor(page, 'unavailable'))['notice'], 'tooMany');
    assert.equal(await page.frameLocator('iframe').locator('[data-notice="tooMany"]').isVisible(), true);
    await page.close();
    browser.forgive(/status of 429/);
  });

  /** A page with a survey whose response had ended before. */
  const endedBefore = async (appearance = {}) => {
    const { id } = await newSurvey(appearance);
    const page = await visit(origin, { survey: id });
    await waitFor(page, 'ready');
    await page.route('**/submit', (route) =>
      route.fulfill({
        status: 409,
        contentType: 'application/json',
        body: JSON.stringify({ success: false, code: 'CONFLICT', details: { reason: 'ALREADY_COMPLETE' } }),
      }),
    );
    await answer(page.frameLocator('iframe'));
    assert.equal((await waitFor(page, 'unavailable'))['notice'], 'thanks');
    browser.forgive(/status of 409/);
    return page;
  };

  it('tells no outcome of a response that had ended before', async () => {
    const page = await endedBefore({ redirectUrl: `${origin}/thanks` });
    assert.equal(new URL(page.url()).pathname, '/page');
    await page.close();
  });

  it('tells the outcome of a response that had ended before once another tab says it', async () => {
    const page = await endedBefore();
    const frame = page.frames().find((found) => found.url().startsWith(service.origin));
    await frame?.evaluate(`
      const { form } = JSON.parse(document.getElementById('state').textContent);
      new BroadcastChannel('survey-answers:' + form.draftKey).postMessage({ kind: 'ended', notice: 'thanks' });`);
    assert.equal((await waitFor(page, 'outcome'))['outcome'], 'COMPLETED');
    await page.close();
  });

  it('is refused by the browser to an origin that it does not allow', async () => {
    const { id } = await newSurvey();
    const page = await visit(otherOrigin, { survey: id });
    await eventually(() => assert.ok(browser.faults.some((fault) => /frame-ancestors/.test(fault))));
    assert.equal(await page.frameLocator('iframe').locator('form').count(), 0);
    assert.deepEqual(
      (await heard(page)).filter(({ name }) => name === 'ready'),
      [],
    );
    await page.close();
    browser.forgive(/frame-ancestors/);
    await admin.put(`/surveys/${id}`, { appearance: { allowedOrigins: ['*'] } });
    const allowed = await visit(otherOrigin, { survey: id });
    await waitFor(allowed, 'ready');
    await allowed.close();
  });

  it('is a private one with the code that Publish gives', async () => {
    const { id } = await newSurvey();
    await admin.put(`/surveys/${id}`, { visibility: 'PRIVATE' });
    const theirs = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    await theirs.getByText('Embed in a page').click();
    const code = (await theirs.getByText('/embed.js').textContent()) ?? '';
    await theirs.context().close();
    const page = await visitWith(code);
    await answer(page.frameLocator('iframe'));
    await waitFor(page, 'outcome');
    await page.close();
  });

  it('does what the guide’s example says', async () => {
    const { id } = await newSurvey({ redirectUrl: `${origin}/thanks` });
    const [example = ''] = examplesOf('docs/guide/embedding.md', 'html');
    const page = await visitWith(
      example.replaceAll('https://surveys.example.org', service.origin).replaceAll('SURVEY_ID', id),
    );
    await page.frameLocator('#survey iframe').getByRole('radio', { name: 'Yes' }).check();
    await page.frameLocator('#survey iframe').locator('.button-primary').click();
    await page.getByText('Thank you (COMPLETED).').waitFor();
    assert.equal(new URL(page.url()).pathname, '/code');
    assert.deepEqual(await waitFor(page, 'outcome'), {
      name: 'outcome',
      survey: id,
      outcome: 'COMPLETED',
      redirectUrl: `${origin}/thanks`,
    });
    const [stored] = await storedResponses(admin, id, 1);
    assert.equal(stored?.metadata['source'], 'shop');
    await page.close();
  });

  it('hears no message but of its own frame', async () => {
    const { id } = await newSurvey();
    const page = await visit(origin, { survey: id });
    await waitFor(page, 'ready');
    await page.evaluate(`postMessage({ from: 'survey-service', type: 'outcome', outcome: 'COMPLETED' }, '*')`);
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    assert.deepEqual(
      (await heard(page)).filter(({ name }) => name === 'outcome'),
      [],
    );
    await page.close();
  });
});
