import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { examplesOf } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import { storedResponses } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useEmbedding } from '../support/use-embedding.ts';

const callsAMinute = 1000;

describe('a survey in a page of another site', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let origin: string;
  let otherOrigin: string;
  // A visitor from an address of their own can use up its limit of calls.
  const { newSurvey, heard, waitFor, answer, visit, visitWith } = useEmbedding(
    (opened) => ({ service, admin, browser, origin, otherOrigin } = opened),
    { RATE_LIMIT_API: String(callsAMinute), TRUSTED_PROXIES: '127.0.0.1' },
  );

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
