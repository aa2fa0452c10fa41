import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { goTo, isLive, newConsoleUser, signedInPage, surveyWithReasons } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { makeInvitations } from '../support/invitations.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the console, while others change what it shows', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('does not call a survey live that was deleted elsewhere', async () => {
    const id = await surveyWithReasons(admin, 'Deleted', 1);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    await isLive(page);
    await admin.remove(`/surveys/${id}`);
    await page.getByText('This is not there any more').waitFor();
    browser.forgive(/404/);
    await page.context().close();
  });

  it('loses nothing that was typed where a proxy says in place of the service that there is no such survey', async () => {
    const { id } = await admin.create('/surveys', { title: 'Behind a proxy' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings` });
    const text = page.getByRole('textbox', { name: 'Closing text' });
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await text.fill('Thanks');
    const replies = [
      { contentType: 'text/plain', body: '404 page not found' },
      { json: { code: 'NO_ROUTE', message: 'no route matched' } },
    ];
    for (const reply of replies) {
      await page.route(`**/api/v1/surveys/${id}`, (route) => route.fulfill({ status: 404, ...reply }));
      const refused = page.waitForResponse((response) => response.status() === 404);
      await save.click();
      await refused;
      await page.getByText('This is not there any more').waitFor();
      await page.unrouteAll();
      assert.equal(await text.inputValue(), 'Thanks');
      await page.getByRole('button', { name: 'admin@localhost' }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      const asked = page.getByRole('alertdialog', { name: 'Sign out without saving?' });
      await asked.getByRole('button', { name: 'Cancel' }).click();
      await asked.waitFor({ state: 'detached' });
    }
    await save.click();
    await page.getByText('The settings are saved.').waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).appearance.closingText, 'Thanks');
    browser.forgive(/status of 404/);
    await page.context().close();
  });

  it('follows settings that others store', async () => {
    const { id } = await admin.create('/surveys', { title: 'Followed' });
    const page = await signedInPage(browser, service);
    await page.clock.install();
    await goTo(page, `/surveys/${id}/settings`);
    const quota = page.getByRole('textbox', { name: 'Complete responses wanted' });
    await quota.waitFor();
    await admin.put(`/surveys/${id}`, { responseQuota: 7, appearance: { closingText: 'Theirs' } });
    await page.clock.fastForward(15_000);
    await eventually(async () => assert.equal(await quota.inputValue(), '7'));
    assert.equal(await page.getByRole('textbox', { name: 'Closing text' }).inputValue(), 'Theirs');
    await page.context().close();
  });

  it('follows translations that others store, and whether AI may make some', async () => {
    const { id } = await admin.create('/surveys', { title: 'Followed' });
    const page = await signedInPage(browser, service);
    await page.clock.install();
    await goTo(page, `/surveys/${id}/languages`);
    await page.getByRole('heading', { name: 'Only in English so far' }).waitFor();
    await admin.put(`/surveys/${id}`, { aiEnabled: false });
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Verfolgt' });
    await page.clock.fastForward(15_000);
    await page.getByRole('button', { name: 'AI is off for this survey' }).waitFor();
    await page.getByRole('button', { name: 'German', exact: true }).click();
    const title = page.getByLabel('Survey, Title, in German');
    await eventually(async () => assert.equal(await title.inputValue(), 'Verfolgt'));
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Gefolgt' });
    await page.clock.fastForward(15_000);
    await eventually(async () => assert.equal(await title.inputValue(), 'Gefolgt'));
    await page.context().close();
  });

  /** Reads an address anew by the clock, and holds back the reply, which says what is stored now. */
  const heldPoll = async (page: Page, address: RegExp) => {
    let isAnswered = false;
    const { release } = await holdCalls(page, address, {
      times: 1,
      answer: async (route, isReleased) => {
        const response = await route.fetch();
        isAnswered = true;
        await isReleased;
        // The page may have given the call up meanwhile.
        await route.fulfill({ response }).catch(() => undefined);
      },
    });
    await page.clock.fastForward(15_000);
    await eventually(() => assert.ok(isAnswered));
    return { release };
  };

  it('overwrites no setting that somebody else stores while the survey is being read anew', async () => {
    const { id } = await admin.create('/surveys', { title: 'Read before' });
    const page = await signedInPage(browser, service);
    await page.clock.install();
    await goTo(page, `/surveys/${id}/settings`);
    await page.getByRole('textbox', { name: 'Closing text' }).fill('Mine');
    const poll = await heldPoll(page, new RegExp(`/api/v1/surveys/${id}(\\?|$)`));
    await admin.put(`/surveys/${id}`, { appearance: { closingText: 'Theirs' } });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    poll.release();
    await page.getByRole('alert', { name: 'Conflict' }).getByText('Theirs', { exact: true }).waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).appearance.closingText, 'Theirs');
    await page.context().close();
  });

  it('overwrites no first text of a language that somebody else stores while the list is being read anew', async () => {
    const { id } = await admin.create('/surveys', { title: 'Read before' });
    const page = await signedInPage(browser, service);
    await page.clock.install();
    await goTo(page, `/surveys/${id}/languages?language=de`);
    await page.getByLabel('Survey, Title, in German').fill('Meine');
    const poll = await heldPoll(page, /\/translations(\?|$)/);
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Ihre' });
    await page.getByRole('button', { name: 'Save' }).click();
    poll.release();
    await page.getByRole('alert', { name: 'Conflict' }).getByText('Ihre', { exact: true }).waitFor();
    assert.equal((await admin.get(`/surveys/${id}/translations/de`)).title, 'Ihre');
    await page.context().close();
  });

  it('keeps the focus in the texts of a new language whose first text somebody else stores', async () => {
    const { id } = await admin.create('/surveys', { title: 'Begun twice', description: 'By two' });
    const page = await signedInPage(browser, service);
    await page.clock.install();
    await goTo(page, `/surveys/${id}/languages?language=de`);
    const title = page.getByLabel('Survey, Title, in German');
    await title.pressSequentially('Mei');
    await admin.put(`/surveys/${id}/translations/de`, { description: 'Zu zweit' });
    const texts = await heldPoll(page, /\/translations\/de(\?|$)/);
    await page
      .getByRole('table', { name: 'Languages' })
      .getByRole('row', { name: /German/ })
      .waitFor();
    await page.keyboard.type('ne');
    texts.release();
    const description = page.getByLabel('Survey, Description, in German');
    await eventually(async () => assert.equal(await description.inputValue(), 'Zu zweit'));
    await page.keyboard.type('!');
    assert.equal(await title.inputValue(), 'Meine!');
    assert.equal(await page.getByRole('alert', { name: 'Conflict' }).count(), 0);
    await page.context().close();
  });

  it('takes no missing text away that somebody else stores, until those that are missing are listed anew', async () => {
    const { id } = await admin.create('/surveys', { title: 'Listed', description: 'What is missing' });
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Aufgelistet' });
    const page = await signedInPage(browser, service);
    await page.clock.install();
    await goTo(page, `/surveys/${id}/languages?language=de&show=open`);
    const description = page.getByLabel('Survey, Description, in German');
    await description.focus();
    assert.equal(await page.getByLabel('Survey, Title, in German').count(), 0);
    await admin.put(`/surveys/${id}/translations/de`, { description: 'Was fehlt' });
    await page.clock.fastForward(15_000);
    await eventually(async () => assert.equal(await description.inputValue({ timeout: 1000 }), 'Was fehlt'));
    assert.ok(await description.evaluate((field) => field === field.ownerDocument.activeElement));
    const filter = page.getByText('Only what is missing or out of date');
    await filter.click();
    await page.getByLabel('Survey, Title, in German').waitFor();
    await filter.click();
    await page.getByText('Every text is translated and up to date.').waitFor();
    await page.context().close();
  });

  it('has what was typed into a survey that is no longer shared once it is shared again', async () => {
    const editor = await newConsoleUser(service, admin, 'EDITOR');
    const { id } = await admin.create('/surveys', { title: 'Shared again' });
    const member = `/surveys/${id}/members/${editor.id}`;
    await admin.put(member, { role: 'EDITOR' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings`, as: editor });
    const text = page.getByRole('textbox', { name: 'Closing text' });
    await text.fill('Thanks');
    await admin.remove(member);
    await page.getByText('This is not there any more, or you have no right to see it.').waitFor();
    await admin.put(member, { role: 'EDITOR' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await text.waitFor();
    assert.equal(await text.inputValue(), 'Thanks');
    await page.getByRole('button', { name: editor.email }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('alertdialog', { name: 'Sign out without saving?' }).waitFor();
    browser.forgive(/status of 404/);
    await page.context().close();
  });

  it('shows quotas that somebody else made, changed or deleted', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Quotas' }, [
      { type: 'MULTIPLE_CHOICE', text: 'Dish?', options: [{ text: 'Soup' }, { text: 'Pasta' }] },
    ]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    await page.getByRole('heading', { name: 'No quotas' }).waitFor();
    await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [questions[0]?.id], limit: 5 });
    const soup = page.getByRole('row').filter({ hasText: 'Soup' });
    await soup.waitFor();
    const quotas = await admin.get(`/surveys/${id}/quotas`);
    await admin.put(`/surveys/${id}/quotas/${quotas[0].id}`, { isActive: false });
    await page.getByText('Paused', { exact: true }).waitFor();
    for (const quota of quotas) await admin.remove(`/surveys/${id}/quotas/${quota.id}`);
    await page.getByRole('heading', { name: 'No quotas' }).waitFor();
    await page.context().close();
  });

  it('shows results of a survey that somebody else renames, extends and pauses meanwhile', async () => {
    const id = await surveyWithReasons(admin, 'Before', 1);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    await isLive(page);
    await page.getByRole('heading', { name: 'Before', exact: true }).waitFor();
    await admin.put(`/surveys/${id}`, { title: 'After' });
    await page.getByRole('heading', { name: 'After', exact: true }).waitFor();
    const { id: questionId } = await admin.create(`/surveys/${id}/questions`, {
      type: 'LONG_TEXT',
      text: 'What else?',
    });
    await admin.submit(id, { answers: [{ questionId, textValue: 'Pudding' }] });
    await page.getByRole('article', { name: '3. What else?' }).getByText('pudding').waitFor();
    await admin.put(`/surveys/${id}`, { status: 'PAUSED' });
    await page.getByText('Paused', { exact: true }).waitFor();
    await page.context().close();
  });

  it('shows quotas that somebody else renamed, and leaves alone what a form does not change', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Renamed' }, [
      { type: 'MULTIPLE_CHOICE', text: 'Dish?', options: [{ text: 'Soup' }, { text: 'Pasta' }] },
    ]);
    await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [questions[0]?.id], limit: 5 });
    const [soup] = await admin.get(`/surveys/${id}/quotas`);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    await page.getByRole('button', { name: 'Actions of Soup' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Responses at most' }).fill('9');
    await admin.put(`/surveys/${id}/quotas/${soup.id}`, { name: 'Potage', whenFull: 'COUNT_ONLY' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /Potage.*0 of 9.*Only count/ }).waitFor();
    await admin.put(`/surveys/${id}/quotas/${soup.id}`, { name: 'Bouillon', whenFull: 'CLOSE' });
    await page.getByRole('row', { name: /Bouillon.*0 of 9.*Close the survey/ }).waitFor();

    const collector = await admin.create(`/surveys/${id}/collectors`, { name: 'Posters' });
    await goTo(page, `/surveys/${id}/publish`);
    await page.getByRole('button', { name: 'Actions of Posters' }).click();
    await page.getByRole('menuitem', { name: 'Change' }).click();
    await page.getByRole('textbox', { name: 'Complete responses at most' }).fill('7');
    await admin.put(`/collectors/${collector.id}`, { name: 'Leaflets' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row').filter({ hasText: 'Leaflets' }).waitFor();
    await page.context().close();
  });

  it('follows the pause and the collectors of a survey in its views and in the list', async () => {
    const title = `Elsewhere ${randomUUID()}`;
    const { id, questions } = await publishedSurvey(admin, { title }, [{ type: 'YES_NO', text: 'Again?' }]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    await page.getByText('Published: it takes responses.').waitFor();
    await admin.put(`/surveys/${id}`, { status: 'PAUSED' });
    await page.getByText('Published: it takes responses.').waitFor({ state: 'detached' });
    await admin.create(`/surveys/${id}/collectors`, { name: 'Posters' });
    await page.getByRole('row').filter({ hasText: 'Posters' }).waitFor();
    await goTo(page, `/surveys?search=${encodeURIComponent(title)}`);
    const row = page.getByRole('row').filter({ hasText: title });
    await row.getByText('Paused').waitFor();
    await admin.put(`/surveys/${id}`, { status: 'ACTIVE' });
    const answers = [{ questionId: questions[0]?.id, optionId: questions[0]?.options[0]?.id }];
    assert.equal((await admin.submit(id, { answers })).status, 201);
    await row.getByText('Active').waitFor();
    await row.getByText('1', { exact: true }).waitFor();
    await page.context().close();
  });

  it('shows what has become of invitations while they are looked at', async () => {
    const { id } = await publishedSurvey(admin, { title: 'By invitation' }, [{ type: 'YES_NO', text: 'Again?' }]);
    const panel = await admin.create(`/surveys/${id}/collectors`, { name: 'Panel', kind: 'INVITATION' });
    const [invitation] = await makeInvitations(service, admin, panel.id, [{ reference: 'anna' }]);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/publish` });
    await page.getByRole('button', { name: 'Actions of Panel' }).click();
    await page.getByRole('menuitem', { name: 'Invitations' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invitations of “Panel”' });
    await dialog.getByRole('row', { name: /anna Unused/ }).waitFor();
    assert.equal((await admin.submit(id, { invitation: invitation?.token, answers: [] })).status, 201);
    await dialog.getByRole('row', { name: /anna Completed/ }).waitFor();
    await dialog.getByText('1 of 1 completed').waitFor();
    await page.context().close();
  });

  it('says of quotas and lists that could not be read anew that they may be out of date', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Quotas' }, [
      { type: 'MULTIPLE_CHOICE', text: 'Dish?', options: [{ text: 'Soup' }, { text: 'Pasta' }] },
    ]);
    await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [questions[0]?.id], limit: 5 });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    const soup = page.getByRole('row').filter({ hasText: 'Soup' });
    await soup.waitFor();
    const calls = /\/api\/v1\/surveys\/[^/]+\/(quotas|collectors)\?/;
    const stale = page.getByRole('alert').filter({ hasText: 'What follows may be out of date.' });
    await page.route(calls, (route) => route.fulfill({ status: 400, json: { code: 'VALIDATION_ERROR' } }));
    const [quota] = await admin.get(`/surveys/${id}/quotas`);
    await admin.remove(`/surveys/${id}/quotas/${quota.id}`);
    await stale.waitFor();
    await soup.waitFor();
    await page.unroute(calls);
    await goTo(page, `/surveys/${id}/publish`);
    await page.getByRole('table', { name: 'Collectors' }).waitFor();
    await page.route(calls, (route) => route.fulfill({ status: 400, json: { code: 'VALIDATION_ERROR' } }));
    await stale.waitFor();
    await page.getByRole('table', { name: 'Collectors' }).waitFor();
    browser.forgive(/status of 400/);
    await page.context().close();
  });

  it('says of a crosstab and of open answers that could not be read anew that they may be out of date', async () => {
    const id = await surveyWithReasons(admin, 'Reread', 1);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/texts` });
    const views = [
      { href: `/surveys/${id}/texts`, shown: page.getByRole('region', { name: 'Answers' }) },
      {
        href: `/surveys/${id}/crosstab?rows=language&columns=outcome`,
        shown: page.getByRole('table', { name: 'Crosstab' }),
      },
    ];
    const calls = /\/(crosstab|texts)(\?|$)/;
    for (const { href, shown } of views) {
      await goTo(page, href);
      await shown.waitFor();
      await page.route(calls, (call) =>
        call.request().url().includes('/api/')
          ? call.fulfill({ status: 400, json: { code: 'VALIDATION_ERROR' } })
          : call.continue(),
      );
      await page.evaluate(focusedLater);
      await page.getByRole('alert').filter({ hasText: 'What follows may be out of date.' }).waitFor();
      await shown.waitFor();
      await page.unroute(calls);
    }
    browser.forgive(/status of 400/);
    await page.context().close();
  });

  it('counts a crosstab once whose survey was deleted elsewhere', async () => {
    const id = await surveyWithReasons(admin, 'Crossed', 1);
    const page = await signedInPage(browser, service);
    // Neither is the page told of the deletion, nor does it ask for a connection again.
    await page.routeWebSocket(/\/api\/v1\/live/, () => undefined);
    await goTo(page, `/surveys/${id}/crosstab?rows=language&columns=outcome`);
    await page.getByRole('table', { name: 'Crosstab' }).waitFor();
    await admin.remove(`/surveys/${id}`);
    let counts = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/crosstab') && request.method() === 'POST') counts += 1;
    });
    const refused = page.waitForResponse((reply) => reply.url().endsWith('/crosstab') && reply.status() === 404);
    await page.evaluate(focusedLater);
    await refused;
    await page.getByText('This is not there any more').first().waitFor();
    assert.equal(counts, 1);
    browser.forgive(/status of 404/);
    await page.context().close();
  });
});

/** Lets the page be looked at again when what it has read is old. */
const focusedLater = `{
  const { now } = Date;
  Date.now = () => now() + 60_000;
  dispatchEvent(new Event('visibilitychange'));
}`;
