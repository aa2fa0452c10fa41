import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { type AskedQuestion, publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { uploadPicture } from '../support/uploads.ts';
import { useService } from '../support/use-service.ts';

describe('questions that were deleted', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  describe('an address that names a deleted question', () => {
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

  describe('the screen Responses', () => {
    it('shows the answers to questions that were deleted, and gives files the name that they had', async () => {
      const { id, questions } = await publishedSurvey(admin, { title: 'Deleted' }, [
        { type: 'SHORT_TEXT', text: 'Which dish?' },
        { type: 'YES_NO', text: 'Hungry?' },
        { type: 'FILE_UPLOAD', text: 'Your plate?' },
      ]);
      const [dish, hungry, plate] = questions as [AskedQuestion, AskedQuestion, AskedQuestion];
      const uploadId = await uploadPicture(service, { surveyId: id, questionId: plate.id, fileName: 'Süßes Eis.png' });
      const answers = [
        { questionId: dish.id, textValue: 'Soup' },
        { questionId: hungry.id, optionId: hungry.options[0]?.id },
        { questionId: plate.id, textValue: uploadId },
      ];
      assert.equal((await admin.submit(id, { answers })).status, 201);
      await eventually(async () => assert.equal((await admin.get(`/responses/surveys/${id}`)).length, 1));
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
      const dialog = page.getByRole('dialog', { name: 'Response' });
      const show = async (shown: readonly [question: string, answer: string][]) => {
        await page.reload();
        await page.getByRole('table', { name: 'Responses' }).getByRole('row').nth(1).press('Enter');
        await eventually(async () => {
          const questions = await dialog.locator('dl').nth(1).locator('dt').allInnerTexts();
          const texts = await dialog.locator('dl').nth(1).locator('dd').allInnerTexts();
          assert.deepEqual([questions, texts], [shown.map(([text]) => text), shown.map(([, answer]) => answer)]);
        });
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          dialog.getByRole('button', { name: 'Download the file' }).click(),
        ]);
        assert.equal(download.suggestedFilename(), 'Süßes Eis.png');
      };
      const [soup, yes, file] = [
        ['Which dish?', 'Soup'],
        ['Hungry?', 'Yes'],
        ['Your plate?', 'Download the file'],
      ] as [[string, string], [string, string], [string, string]];
      const removed = ([text, answer]: [string, string]): [string, string] => [`${text} (removed)`, answer];
      const readsOfRemoved: string[] = [];
      page.on('request', (call) => call.url().includes('includeHidden') && readsOfRemoved.push(call.url()));
      await show([soup, yes, file]);
      assert.deepEqual(readsOfRemoved, []);
      for (const { id: questionId } of [hungry, plate]) await admin.remove(`/surveys/${id}/questions/${questionId}`);
      await show([soup, removed(yes), removed(file)]);
      await assertAccessible(page);
    });

    it('shows a deleted question also where the response was continued after its deletion', async () => {
      const { id, questions } = await publishedSurvey(admin, { title: 'Continued' }, [
        { type: 'SHORT_TEXT', text: 'Which dish?' },
        { type: 'SHORT_TEXT', text: 'Which drink?' },
      ]);
      const [dish, drink] = questions as [AskedQuestion, AskedQuestion];
      const answers = [{ questionId: drink.id, textValue: 'Tea' }];
      const saved = await admin.submit(id, { isComplete: false, answers });
      assert.equal((await admin.submit(id, { answers: [{ questionId: drink.id, textValue: 'Water' }] })).status, 201);
      await admin.remove(`/surveys/${id}/questions/${drink.id}`);
      const { responseId, resumeToken } = saved.body.data;
      const more = [{ questionId: dish.id, textValue: 'Soup' }];
      assert.equal((await admin.submit(id, { responseId, resumeToken, answers: more })).status, 201);
      await eventually(async () => {
        const outcomes = (await admin.get(`/responses/surveys/${id}`)).map(
          ({ outcome }: { outcome: string }) => outcome,
        );
        assert.deepEqual(outcomes, ['COMPLETED', 'COMPLETED']);
      });
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/responses` });
      const rows = page.getByRole('table', { name: 'Responses' }).getByRole('row');
      const dialog = page.getByRole('dialog', { name: 'Response' });
      const shown: string[][] = [];
      for (const row of [1, 2]) {
        await rows.nth(row).press('Enter');
        await dialog.getByText('Which drink? (removed)').waitFor();
        shown.push(await dialog.locator('dl').nth(1).locator('dd').allInnerTexts());
        await dialog.getByRole('button', { name: 'Close' }).last().click();
      }
      assert.deepEqual(shown.sort(), [
        ['No answer', 'Water'],
        ['Soup', 'Tea'],
      ]);
    });
  });
});
