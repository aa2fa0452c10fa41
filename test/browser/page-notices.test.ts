import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { axeFindings } from '../support/axe-findings.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { makeInvitations } from '../support/invitations.ts';
import { publishedSurvey, storedResponses, thanked } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { slowToOpen } from '../support/slow-database.ts';
import { useService } from '../support/use-service.ts';

const hour = 3_600_000;
const later = (ms: number): string => new Date(Date.now() + ms).toISOString();
const question = [{ type: 'SHORT_TEXT', text: 'Your name?', isRequired: true }];

describe('links of the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('that cannot be answered say why, with a status, in the language of the respondent', async () => {
    const of = (fields: Record<string, unknown>) => publishedSurvey(admin, { title: 'Members', ...fields }, question);
    const paused = await of({});
    await admin.put(`/surveys/${paused.id}`, { status: 'PAUSED' });
    const closed = await of({});
    await admin.put(`/surveys/${closed.id}`, { status: 'CLOSED' });
    const draft = await admin.create('/surveys', { title: 'Secret draft' });
    const hidden = await of({ visibility: 'PRIVATE', title: 'Secret survey' });
    const early = await of({ startsAt: later(hour) });
    const full = await of({ responseQuota: 1 });
    await admin.submit(full.id, { answers: [{ questionId: full.questions[0]?.id, textValue: 'first' }] });
    // The last seat closes the survey a little after the reply.
    await eventually(async () => assert.equal((await fetch(`${service.origin}/s/${full.id}`)).status, 409));
    const cases: [string, number, string][] = [
      ['nothing', 404, 'Hier gibt es keine Umfrage'],
      [draft.id, 404, 'Hier gibt es keine Umfrage'],
      [hidden.id, 403, 'Diese Umfrage ist nicht öffentlich'],
      [`${hidden.id}?surveyToken=wrong`, 403, 'Diese Umfrage ist nicht öffentlich'],
      [paused.id, 409, 'Diese Umfrage ist unterbrochen'],
      [closed.id, 409, 'Diese Umfrage ist geschlossen'],
      [early.id, 409, 'Diese Umfrage ist noch nicht geöffnet'],
      [full.id, 409, 'Diese Umfrage ist vollständig'],
      [`${early.id}?invitation=wrong`, 409, 'Diese Umfrage ist noch nicht geöffnet'],
    ];
    const page = await browser.open({ locale: 'de-CH' });
    for (const [link, status, heading] of cases) {
      const reply = await page.goto(`${service.origin}/s/${link}`);
      assert.equal(reply?.status(), status, link);
      await page.getByRole('heading', { name: heading }).waitFor();
      assert.equal(await page.locator('html').getAttribute('lang'), 'de');
      assert.doesNotMatch((await reply?.text()) ?? '', /Secret/);
      assert.equal(reply?.headers()['referrer-policy'], 'no-referrer');
      assert.equal(reply?.headers()['cache-control'], 'no-store');
    }
    assert.deepEqual(await axeFindings(page), []);
    assert.deepEqual(await page.context().cookies(), []);
    browser.forgive(/status of 4\d\d/);
    await page.context().close();
  });

  it('that cannot be answered yet keep their token for a reload', async () => {
    const survey = await publishedSurvey(admin, { title: 'Members', visibility: 'PRIVATE' }, question);
    const { accessToken } = await admin.get(`/surveys/${survey.id}`);
    await admin.put(`/surveys/${survey.id}`, { status: 'PAUSED' });
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}?surveyToken=${accessToken}`);
    const paused = page.locator('[data-notice="paused"]');
    await paused.getByRole('button', { name: 'Try again' }).waitFor();
    await page.reload();
    await paused.getByRole('button', { name: 'Try again' }).waitFor();
    await admin.put(`/surveys/${survey.id}`, { status: 'ACTIVE' });
    await page.reload();
    await page.getByLabel('Your name?').waitFor();
    await eventually(async () => assert.equal(page.url(), `${service.origin}/s/${survey.id}`));
    await page.reload();
    await page.getByLabel('Your name?').waitFor();
    browser.forgive(/status of 4\d\d/);
    await page.context().close();
  });

  it('leave their token in no entry of the history, also where it was hidden late', async () => {
    const survey = await publishedSurvey(admin, { title: 'Members', visibility: 'PRIVATE' }, question);
    const { accessToken } = await admin.get(`/surveys/${survey.id}`);
    await admin.put(`/surveys/${survey.id}`, { status: 'PAUSED' });
    const { id: sectionId } = await admin.create(`/surveys/${survey.id}/sections`, { title: 'Afterwards' });
    await admin.create(`/surveys/${survey.id}/questions`, { type: 'LONG_TEXT', text: 'Your story?', sectionId });
    await admin.put(`/surveys/${survey.id}`, { status: 'ACTIVE' });
    const address = `${service.origin}/s/${survey.id}`;
    const page = await browser.open();
    await page.addInitScript(slowToOpen(5000));
    await page.goto(`${address}?surveyToken=${accessToken}`);
    await page.getByLabel('Your name?').fill('Ada');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('Your story?').waitFor();
    assert.equal(page.url(), `${address}?surveyToken=${accessToken}`);
    await eventually(async () => assert.equal(page.url(), address));
    await page.goBack();
    await page.getByLabel('Your name?').waitFor();
    await eventually(async () => assert.equal(page.url(), address));
    await page.goForward();
    await page.getByLabel('Your story?').waitFor();
    await page.context().close();
  });

  it('with a fragment are tried again as well', async () => {
    const survey = await publishedSurvey(admin, { title: 'Members' }, question);
    await admin.put(`/surveys/${survey.id}`, { status: 'PAUSED' });
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}#questions`);
    const again = page.getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await admin.put(`/surveys/${survey.id}`, { status: 'ACTIVE' });
    await again.click();
    await page.getByLabel('Your name?').waitFor();
    browser.forgive(/status of 409/);
    await page.context().close();
  });

  it('of an invitation open one response, and show its token nowhere', async () => {
    const survey = await publishedSurvey(admin, { title: 'Members {{invitation:team|of yours}}' }, [
      { type: 'SHORT_TEXT', text: 'Team {{invitation:team|of yours}}?', isRequired: true },
    ]);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
    const rows = [{ reference: 'anna', language: 'en', metadata: { team: 'red' } }];
    const [invited] = await makeInvitations(service, admin, list.id, rows);
    const address = `${service.origin}/s/${list.linkId}`;
    const page = await browser.open();
    await page.goto(address);
    await page.getByRole('heading', { name: 'This survey is by invitation' }).waitFor();
    await page.goto(`${address}?invitation=${invited?.token}`);
    await page.getByRole('heading', { name: 'Members red' }).waitFor();
    await page.getByLabel('Team red?').fill('yes');
    await eventually(async () => assert.equal(page.url(), address));
    await page.locator('.status[data-status=saved]').waitFor();
    await page.reload();
    const answer = page.getByLabel('Team red?');
    await eventually(async () => assert.equal(await answer.inputValue(), 'yes'));
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    await storedResponses(admin, survey.id, 1);
    // What is stored of its use comes a little later than the response.
    await eventually(async () => {
      await page.goto(`${address}?invitation=${invited?.token}`);
      assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'This invitation has been used');
    });
    // No form, and so nothing that could take the place of what the title names.
    assert.equal(await page.locator('.notice-survey').textContent(), 'Members of yours');
    assert.match(await page.title(), /Members of yours/);
    browser.forgive(/status of 4\d\d/);
    await page.context().close();
  });

  it('show sections as pages; paths, texts of others and errors are handled on the way', async () => {
    const survey = await admin.create('/surveys', { title: '<img src=x onerror=alert(1)>' });
    const ask = (body: object) => admin.create(`/surveys/${survey.id}/questions`, body);
    const name = await ask({ type: 'SHORT_TEXT', text: 'Your name?', isRequired: true });
    const section = await admin.create(`/surveys/${survey.id}/sections`, { title: 'More' });
    const visibleIf = { questionId: name.id, operator: 'containsText', value: 'script' };
    const sectionId = section.id;
    await ask({
      type: 'YES_NO',
      text: `Are you {{question:${name.id}|you}}?`,
      isRequired: true,
      sectionId,
      visibleIf,
    });
    await ask({ type: 'EMAIL', text: 'Your e-mail?', sectionId });
    await admin.post(`/surveys/${survey.id}/publish`);
    const page = await browser.open();
    await page.goto(`${service.origin}/s/${survey.id}`);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Please answer this question.').waitFor();
    assert.equal(await page.evaluate<string>('document.activeElement.id'), `q-${name.id}-control`);
    await page.keyboard.type('</script><script>alert(2)</script>');
    await page.keyboard.press('Enter');
    await page.getByText('Are you </script><script>alert(2)</script>?').waitFor();
    assert.equal(await page.locator('.question script, h1 img').count(), 0);
    await page.getByLabel('Your e-mail?').fill('nobody');
    await page.getByRole('radio', { name: 'Yes' }).focus();
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Please enter an e-mail address').waitFor();
    assert.equal(await page.getByLabel('Your e-mail?').inputValue(), 'nobody');
    await page.getByRole('button', { name: 'Back' }).click();
    assert.match(await page.getByLabel('Your name?').inputValue(), /alert/);
    await page.goBack();
    await page.getByLabel('Your e-mail?').fill('ada@example.org');
    await page.getByRole('button', { name: 'Send' }).click();
    await thanked(page);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers.length, 3);
    await page.context().close();
  });

  it('are small: at most 35 KB of script and 60 KB in all for 30 questions', async () => {
    const survey = await publishedSurvey(
      admin,
      { title: 'Thirty questions' },
      Array.from({ length: 30 }, (_, index) => ({
        type: index % 2 === 0 ? 'MULTIPLE_CHOICE' : 'LIKERT_SCALE',
        text: `How do you like the dish of day ${index}, all in all?`,
        ...(index % 2 === 0 && { options: ['Very much', 'Somewhat', 'Not at all'].map((text) => ({ text })) }),
      })),
    );
    const sizes: Record<string, number> = {};
    const html = await (await fetch(`${service.origin}/s/${survey.id}`)).text();
    sizes['html'] = gzipSync(html).length;
    for (const [, path = ''] of html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g))
      sizes[path] = gzipSync(await (await fetch(service.origin + path)).text()).length;
    const scripts = Object.entries(sizes).filter(([path]) => path.endsWith('.js'));
    assert.ok(scripts.length > 0 && scripts.every(([, bytes]) => bytes <= 35_000), JSON.stringify(sizes));
    const total = Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0);
    assert.ok(total <= 60_000, JSON.stringify(sizes));
  });
});
