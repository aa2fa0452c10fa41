import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { signedInPage } from '../support/console.ts';
import { type AskedQuestion, publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('an address that names a deleted question', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('is explained in words of the console, and goes on without the filter', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Deleted' }, [
      { type: 'YES_NO', text: 'Hungry?' },
      { type: 'YES_NO', text: 'Thirsty?' },
      { type: 'NUMBER', text: 'Weight?' },
    ]);
    const [hungry, thirsty, weight] = questions as [AskedQuestion, AskedQuestion, AskedQuestion];
    const answers = [{ questionId: hungry.id, optionId: hungry.options[0]?.id }];
    await admin.create(`/responses/surveys/${id}/submit`, { answers });
    for (const { id: deleted } of [thirsty, weight]) await admin.remove(`/surveys/${id}/questions/${deleted}`);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    const explained = page.getByRole('heading', { name: 'This names a question that was deleted' });
    const filter = encodeURIComponent(JSON.stringify([`${thirsty.id}:yes`]));
    for (const address of [
      `crosstab?rows=${hungry.id}&columns=${encodeURIComponent(JSON.stringify([thirsty.id]))}`,
      `crosstab?rows=${hungry.id}&columns=${encodeURIComponent(JSON.stringify([hungry.id]))}&weight=${weight.id}`,
      `results?filter=${filter}`,
      `responses?filter=${filter}`,
    ]) {
      await page.goto(`${service.origin}/surveys/${id}/${address}`);
      await explained.waitFor();
    }
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('table', { name: 'Responses' }).waitFor();
    browser.forgive(/status of 400/);
  });
});
