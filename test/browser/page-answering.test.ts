import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { publishedSurvey, questionAt, storedResponses, thanked } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('answering a survey on the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('shows what the service rendered, takes answers and ends after the service has them', async () => {
    const survey = await publishedSurvey(admin, { title: 'Lunch' }, [
      {
        type: 'MULTIPLE_CHOICE',
        text: 'Which dish?',
        isRequired: true,
        options: [{ text: 'Soup' }, { text: 'Pasta' }],
      },
      { type: 'SHORT_TEXT', text: 'Why?' },
    ]);
    const page = await browser.open();
    const reply = await page.goto(`${service.origin}/s/${survey.id}`);
    assert.equal(reply?.status(), 200);
    const html = (await reply?.text()) ?? '';
    assert.match(html, /<html lang="en" dir="ltr">.*<title>Lunch<\/title>/);
    assert.match(html, /Which dish\?/);
    assert.match(html, />Pasta</);

    await questionAt(page, 'Which dish?').getByRole('radio', { name: 'Pasta' }).check();
    await page.getByLabel('Why?').fill('It is <b>warm</b>.');
    const sent = page.waitForResponse((response) => response.url().endsWith('/submit') && response.status() === 201);
    await page.getByRole('button', { name: 'Send' }).click();
    assert.equal((await sent).status(), 201);
    await thanked(page);

    const [stored] = await storedResponses(admin, survey.id, 1);
    const [dish, why] = survey.questions;
    assert.deepEqual(stored?.answers, [
      { questionId: dish?.id, optionId: dish?.options[1]?.id },
      { questionId: why?.id, textValue: 'It is <b>warm</b>.' },
    ]);
    assert.equal(stored?.outcome, 'COMPLETED');
  });

  it('can be begun again where its script did not come, with all that stood in the address', async () => {
    const survey = await publishedSurvey(admin, { title: 'Cut', visibility: 'PRIVATE' }, [
      { type: 'SHORT_TEXT', text: 'Your name?' },
    ]);
    const { accessToken } = await admin.get(`/surveys/${survey.id}`);
    const page = await browser.open();
    await page.route('**/assets/*.js', (route) => route.abort('connectionreset'), { times: 1 });
    const given = `surveyToken=${accessToken}&metadata.source=poster`;
    await page.goto(`${service.origin}/s/${survey.id}?${given}`);
    const again = page.getByRole('link', { name: 'Try again', includeHidden: true });
    // It comes after some seconds.
    assert.equal(await again.isVisible(), false);
    await page.evaluate('for (const animation of document.getAnimations()) animation.finish()');
    await again.click();
    await page.getByLabel('Your name?').fill('Ada');
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.deepEqual(stored?.metadata, { source: 'poster' });
    browser.forgive(/ERR_CONNECTION_RESET/);
    await page.context().close();
  });

  it('is readable without a script', async () => {
    const survey = await publishedSurvey(admin, { title: 'Readable' }, [
      { type: 'YES_NO', text: 'Can you read this?' },
      { type: 'NPS', text: 'And this?' },
    ]);
    const page = await browser.open({ javaScriptEnabled: false });
    const reply = await page.goto(`${service.origin}/s/${survey.id}`);
    await page.getByRole('heading', { name: 'Readable' }).waitFor();
    await page.getByText('Can you read this?').waitFor();
    // Chromium under test parses as if scripts ran, so that it does not show this.
    assert.match((await reply?.text()) ?? '', /<noscript>.*Please switch JavaScript on/);
    assert.equal(await page.getByRole('radio').count(), 13);
  });
});
