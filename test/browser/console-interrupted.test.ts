import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { blockedStorage } from '../support/blocked-storage.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { fillSignIn } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the console, interrupted', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  let surveyId: string;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  before(async () => {
    surveyId = await answeredSurvey('Lunch', 1);
  });

  const answeredSurvey = async (title: string, count: number): Promise<string> => {
    const { id, questions } = await publishedSurvey(admin, { title }, [
      { type: 'LONG_TEXT', text: 'Why?' },
      { type: 'LONG_TEXT', text: 'Why not?' },
    ]);
    const answers = [{ questionId: questions[0]?.id, textValue: `Because of ${title}` }];
    for (let n = 0; n < count; n += 1) assert.equal((await admin.submit(id, { answers })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, count));
    return id;
  };
  const isLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor();

  it('opens in a browser that blocks storage', async () => {
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(blockedStorage);
    await page.goto(`${service.origin}/surveys/${surveyId}/results`);
    await fillSignIn(page);
    await isLive(page);
    await page.getByRole('link', { name: 'Texts' }).click();
    await page.getByText('Because of Lunch').waitFor();
    await page.context().close();
  });
});
