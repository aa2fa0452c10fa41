import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, withoutBrowser } from '../support/browser.ts';
import { examplesOf } from '../support/documents.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useEmbedding } from '../support/use-embedding.ts';

describe('a survey over a page of another site', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let browser: BrowserFixture;
  let origin: string;
  const { newSurvey, heard, waitFor, answer, visit, visitWith } = useEmbedding(
    (opened) => ({ service, browser, origin } = opened),
  );

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
});
