import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the console', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service } = served));

  it('is what the service serves at its root, and its page reports no fault', async () => {
    const page = await browser.open();
    const reply = await page.goto(service.origin);
    assert.equal(reply?.status(), 200);
    await page.getByRole('heading').first().waitFor();
  });
});
