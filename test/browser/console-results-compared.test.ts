import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { addFilter, assertAccessible, goTo, isLive, signedInPage } from '../support/console.ts';
import { dishesSurvey } from '../support/dishes-survey.ts';
import { eventually } from '../support/eventually.ts';
import { publishedSurvey } from '../support/page-fixture.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('selections and groups in results', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const counted = (id: string, total: number) =>
    eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, total));

  it('are filtered by language where the survey has several', async () => {
    const { id, dish, submit } = await dishesSurvey(admin);
    const texts = { title: 'Kantine' };
    assert.equal((await admin.call('PUT', `/surveys/${id}/translations/de`, { body: texts })).status, 200);
    await submit(0, true);
    const german = [{ questionId: dish.id, optionId: dish.options[1].id }];
    assert.equal((await admin.submit(id, { answers: german, language: 'de-AT' })).status, 201);
    await counted(id, 2);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    await page.getByRole('row', { name: 'Soup 50.0 % 1' }).waitFor();
    await addFilter(page, { search: 'lang', variable: 'Language', value: 'German' });
    await page.getByRole('row', { name: 'Pasta 100.0 % 1' }).waitFor();
    await page.waitForURL(/filter=.*language/);
  });

  it('are compared by all languages that responses came in, those without texts too', async () => {
    const { id, dish, submit } = await dishesSurvey(admin);
    const texts = { title: 'Kantine' };
    assert.equal((await admin.call('PUT', `/surveys/${id}/translations/de`, { body: texts })).status, 200);
    await submit(0, true);
    const answers = [{ questionId: dish.id, optionId: dish.options[1].id }];
    for (const language of ['fr-CA', 'tlh']) assert.equal((await admin.submit(id, { answers, language })).status, 201);
    await counted(id, 3);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results?compare=language` });
    const card = page.getByRole('article', { name: /dish/ });
    for (const name of [/^English/, /^German/, /^French/, /^Other languages/])
      await card.getByRole('columnheader', { name }).waitFor();
    await page.context().close();
  });

  it('are filtered and compared, which the address names, and saved as a table', async () => {
    const { id, dish, again, submit } = await dishesSurvey(admin);
    for (const [dishNumber, isAgain] of [
      [0, true],
      [0, true],
      [0, false],
      [1, false],
    ] as const)
      await submit(dishNumber, isAgain);
    await counted(id, 4);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    await page.getByRole('row', { name: 'Soup 75.0 % 3' }).waitFor();

    await addFilter(page, { search: 'dish', variable: /dish/, value: 'Soup' });
    await page.getByRole('row', { name: 'Soup 100.0 % 3' }).waitFor();
    await page.waitForURL(new RegExp(`filter=.*${dish.id}`));
    await page.reload();
    await page.getByRole('row', { name: 'Soup 100.0 % 3' }).waitFor();
    await page.getByRole('button', { name: /Remove the filter/ }).click();
    await page.getByRole('row', { name: 'Soup 75.0 % 3' }).waitFor();
    await page.goBack();
    await page.getByRole('row', { name: 'Soup 100.0 % 3' }).waitFor();
    await page.goForward();

    await page.getByRole('button', { name: /Compare by/ }).click();
    await page.getByRole('option', { name: /Again/ }).click();
    await page.waitForURL(new RegExp(`compare=${again.id}`));
    await page.getByRole('row', { name: /Soup 100.0 % 2 50.0 % 1/ }).waitFor();
    await assertAccessible(page);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /Save the table of 1\..* as CSV/ }).click(),
    ]);
    const [picture] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Save 1\..* as a picture/ }).click(),
    ]);
    assert.equal((await readFile(await picture.path())).subarray(1, 4).toString(), 'PNG');
    const lines = (await readFile(await download.path(), 'utf8')).replace('\ufeff', '').split('\r\n');
    assert.equal(lines[1], 'Soup,2,100,1,50');
    assert.equal(lines[3], 'n,2,,2,');
  });

  it('lay groups beside one another in one list, with every count that is known and no other', async () => {
    const { id } = await admin.create('/surveys', { title: 'Groups', status: 'ACTIVE' });
    const ask = (type: string, text: string, fields = {}) =>
      admin.create(`/surveys/${id}/questions`, { type, text, ...fields });
    const group = await ask('MULTIPLE_CHOICE', 'Group?', { options: [{ text: 'A' }, { text: 'B' }] });
    const [why, day, mail] = [await ask('LONG_TEXT', 'Why?'), await ask('DATE', 'Day?'), await ask('EMAIL', 'Mail?')];
    const submit = async (place: number, given: { words: string; date: string; domain: string }) => {
      const answers = [
        { questionId: group.id, optionId: group.options[place].id },
        { questionId: why.id, textValue: given.words },
        { questionId: day.id, textValue: given.date },
        { questionId: mail.id, textValue: `me@${given.domain}.org` },
      ];
      assert.equal((await admin.submit(id, { answers })).status, 201);
    };
    const numbered = (letter: string, count: number) =>
      Array.from({ length: count }, (_, n) => `${letter}${String(n).padStart(2, '0')}`);
    const words = numbered('w', 60);
    // The statistic of A names 50 of its words: w39 is among them, but not among the first 30, and w59 is not.
    const text = [...words, ...words.slice(0, 30)].join(' ');
    for (const [n, domain] of numbered('d', 31).entries())
      await submit(0, {
        words: n === 0 ? text : '-',
        date: `2026-01-${String(n + 1).padStart(2, '0')}`,
        domain,
      });
    await submit(1, { words: 'w39 w39 w39 w59 w59 w59', date: '2026-01-01', domain: 'd30' });
    await counted(id, 32);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results?compare=${group.id}` });
    const rows = async (card: RegExp) => {
      const article = page.getByRole('article', { name: card });
      await article.scrollIntoViewIfNeeded();
      await article.getByRole('columnheader', { name: /^B/ }).waitFor();
      return (await article.getByRole('row').allInnerTexts()).slice(1).map((row) => row.replace(/\s+/g, ' ').trim());
    };
    const ofWords = await rows(/Why/);
    assert.equal(ofWords.length, 30);
    assert.deepEqual(ofWords.slice(0, 3), ['w39 1 3', 'w59 unknown 3', 'w00 2 0']);
    const ofDays = await rows(/Day/);
    assert.equal(ofDays.length, 31);
    assert.equal(ofDays[0], 'Other days 3.2 % 1 100.0 % 1');
    assert.equal(ofDays.at(-1), 'Jan 31, 2026 3.2 % 1 0.0 % 0');
    const ofDomains = await rows(/Mail/);
    assert.equal(ofDomains.length, 31);
    assert.equal(ofDomains[0], 'd30.org 3.2 % 1 100.0 % 1');
    assert.equal(ofDomains.at(-1), 'Others 3.2 % 1 0.0 % 0');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /Save the table of 2\..* as CSV/ }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
    assert.deepEqual(lines.slice(1, 4), ['w39,1,,3,', 'w59,unknown,,3,', 'w00,2,,0,']);
  });

  it('are the groups of a score, ranges of a long scale, or the most frequent of many answers', async () => {
    const towns = Array.from({ length: 9 }, (_, n) => ({ text: `Town ${n + 1}` }));
    const { id, questions } = await publishedSurvey(admin, { title: 'Many groups' }, [
      { type: 'NPS', text: 'Recommend?' },
      { type: 'RATING_SCALE', text: 'Rate?', settings: { min: 1, max: 10 } },
      { type: 'DROPDOWN', text: 'Town?', options: towns },
    ]);
    const [nps, rating, town] = questions;
    // Each town has one response but the second, which has none, and the last, which has two.
    for (const [score, place] of [0, 2, 3, 4, 5, 6, 7, 8, 8].entries()) {
      const answers = [
        { questionId: nps?.id, numberValue: score },
        { questionId: rating?.id, numberValue: score + 1 },
        { questionId: town?.id, optionId: town?.options[place]?.id },
      ];
      assert.equal((await admin.submit(id, { answers })).status, 201);
    }
    await counted(id, 9);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    const heads = page.getByRole('article', { name: '3. Town?' }).getByRole('columnheader');
    const compareBy = async (name: string, expected: readonly string[]) => {
      await page.getByRole('button', { name: /Compare by/ }).click();
      await page.getByRole('option', { name }).click();
      await eventually(async () => assert.deepEqual((await heads.allInnerTexts()).slice(1), expected));
    };
    await compareBy('1. Recommend?', ['Detractors (0–6) n = 7', 'Passives (7–8) n = 2', 'Promoters (9–10) n = 0']);
    await compareBy('2. Rate?', ['1–2 n = 2', '3–4 n = 2', '5–6 n = 2', '7–8 n = 2', '9–10 n = 1']);
    assert.equal(await page.getByText('groups are compared').count(), 0);
    const named = [1, 3, 4, 5, 6, 7, 8].map((n) => `Town ${n} n = 1`);
    await compareBy('3. Town?', [...named, 'Town 9 n = 2']);
    await page.getByText('8 of 9 groups are compared. Left out: Town 2.').waitFor();
    await assertAccessible(page);
    await addFilter(page, { search: 'Recommend', variable: '1. Recommend?', value: 'Passives (7–8)' });
    await page.getByRole('button', { name: 'Remove the filter 1. Recommend?: Passives (7–8)' }).waitFor();
    await page.getByText('2 answered of 2 asked').first().waitFor();
    await page.context().close();
  });

  it('stay the same while responses come, though another answer becomes more frequent', async () => {
    const options = Array.from({ length: 9 }, (_, n) => ({ text: `Town ${n + 1}` }));
    const { id, questions } = await publishedSurvey(admin, { title: 'Live' }, [
      { type: 'DROPDOWN', text: '?', options },
    ]);
    const submit = async (place: number) => {
      const answers = [{ questionId: questions[0]?.id, optionId: questions[0]?.options[place]?.id }];
      assert.equal((await admin.submit(id, { answers })).status, 201);
    };
    for (const place of [0, 1, 2, 3, 4, 5, 6, 7]) await submit(place);
    await counted(id, 8);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results?compare=${questions[0]?.id}` });
    await page.getByText('Left out: Town 9.').waitFor();
    for (const place of [8, 8]) await submit(place);
    await page.locator('dd').first().getByText('10', { exact: true }).waitFor();
    assert.equal(await page.getByText('Left out: Town 9.').count(), 1);
    await page.context().close();
  });

  it('are the languages that most responses came in, where there are more than eight', async () => {
    const { id, dish } = await dishesSurvey(admin);
    for (const tag of ['de', 'fr', 'it', 'es', 'pt', 'nl', 'pl'])
      await admin.put(`/surveys/${id}/translations/${tag}`, { title: 'Menu' });
    const answers = [{ questionId: dish.id, optionId: dish.options[1].id }];
    for (const language of ['en', 'fr', 'it', 'es', 'pt', 'nl', 'pl', 'tlh'])
      assert.equal((await admin.submit(id, { answers, language })).status, 201);
    await counted(id, 8);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results?compare=language` });
    await page.getByText('8 of 9 groups are compared. Left out: German.').waitFor();
    await page.context().close();
  });

  it('stay where they are scrolled to when they are compared', async () => {
    const { id, questions } = await publishedSurvey(
      admin,
      { title: 'Scrolled' },
      Array.from({ length: 15 }, (_, n) => ({ type: 'YES_NO', text: `Question ${n + 1}` })),
    );
    const answers = questions.map(({ id: questionId, options }) => ({ questionId, optionId: options[0]?.id }));
    assert.equal((await admin.submit(id, { answers })).status, 201);
    await counted(id, 1);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    const card = page.getByRole('article', { name: '12. Question 12' });
    await card.scrollIntoViewIfNeeded();
    await card.getByRole('row', { name: /100.0 % 1/ }).waitFor();
    await page.getByRole('button', { name: /Compare by/ }).click();
    await page
      .getByRole('option', { name: /Question 1$/ })
      .first()
      .click();
    await page.waitForURL(/compare=/);
    await page.getByRole('columnheader', { name: /^Yes/ }).first().waitFor();
    const box = await card.boundingBox();
    assert.ok(box && box.y > -800 && box.y < 900, JSON.stringify(box));
    await page.context().close();
  });

  it('are filtered by a collector as soon as it is made', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Collected' }, [
      { type: 'YES_NO', text: 'Again?' },
    ]);
    const answers = [{ questionId: questions[0]?.id, optionId: questions[0]?.options[0]?.id }];
    assert.equal((await admin.submit(id, { answers })).status, 201);
    await counted(id, 1);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results` });
    await page.getByRole('row', { name: 'Yes 100.0 % 1' }).waitFor();
    await goTo(page, `/surveys/${id}/publish`);
    await page.getByRole('button', { name: 'New collector' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Posters');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('row').filter({ hasText: 'Posters' }).waitFor();
    await goTo(page, `/surveys/${id}/results`);
    await page.getByRole('button', { name: 'Add filter' }).click();
    const adding = page.getByRole('dialog', { name: 'Add filter' });
    await adding.getByRole('combobox', { name: 'Question' }).fill('Coll');
    await page.getByRole('option', { name: 'Collector' }).click();
    await adding.getByRole('button', { name: /Answer/ }).click();
    await page.getByRole('option', { name: 'Posters' }).waitFor();
    await page.context().close();
  });

  it('keep the focus among the filters when one is removed by a key', async () => {
    const { id, questions } = await publishedSurvey(admin, { title: 'Filters' }, [
      { type: 'YES_NO', text: 'Hungry?' },
      { type: 'YES_NO', text: 'Thirsty?' },
    ]);
    const filter = JSON.stringify(questions.map((question) => `${question.id}:yes`));
    const page = await signedInPage(browser, service, {
      path: `/surveys/${id}/results?filter=${encodeURIComponent(filter)}`,
    });
    const hasFocus = (name: RegExp | string) =>
      page.getByRole('button', { name }).and(page.locator(':focus')).waitFor();
    await page.getByRole('button', { name: /Remove the filter .*Hungry/ }).focus();
    await page.keyboard.press('Enter');
    await hasFocus(/Remove the filter .*Thirsty/);
    await page.keyboard.press('Enter');
    await hasFocus('Add filter');
    await page.context().close();
  });

  it('are not called live while a selection or a comparison cannot be counted anew', async () => {
    const { id, again, submit } = await dishesSurvey(admin);
    await submit(0, true);
    await counted(id, 1);
    for (const search of ['filter=outcome:COMPLETED', `compare=${again.id}`]) {
      const page = await signedInPage(browser, service, { path: `/surveys/${id}/results?${search}` });
      await isLive(page);
      const counts = /\/analytics\/surveys\/[^?]+\?.*filter=/;
      await page.route(counts, (call) => call.fulfill({ status: 400, json: { code: 'VALIDATION_ERROR' } }));
      await submit(0, true);
      const stale = page.getByRole('alert').filter({ hasText: 'What follows may be out of date.' });
      await stale.waitFor();
      await page.getByText('Not up to date', { exact: true }).waitFor();
      assert.equal(await page.getByText('Live', { exact: true }).count(), 0);
      await page.getByRole('article', { name: /dish/ }).waitFor();
      await page.unroute(counts);
      await submit(0, true);
      await stale.waitFor({ state: 'detached' });
      await isLive(page);
      browser.forgive(/status of 400/);
      await page.context().close();
    }
  });

  it('are counted once where they are refused, and say so until others are chosen', async () => {
    const { id, submit } = await dishesSurvey(admin);
    await submit(0, true);
    await counted(id, 1);
    const page = await signedInPage(browser, service);
    let streamed = 0;
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => (streamed += Number(String(payload).includes('"type":"analytics"')))),
    );
    let counts = 0;
    page.on('request', (call) => (counts += Number(/\/analytics\/surveys\/[^?]+\?/.test(call.url()))));
    const filter = encodeURIComponent(JSON.stringify([`${randomUUID()}:yes`]));
    await goTo(page, `/surveys/${id}/results?filter=${filter}`);
    const refused = page.getByRole('heading', { name: 'This names a question that was deleted' });
    await refused.waitFor();
    for (const frames of [1, 2]) {
      await eventually(() => assert.ok(streamed >= frames));
      assert.equal(await refused.count(), 1);
      await submit(0, true);
    }
    assert.equal(counts, 1);
    await page.getByRole('button', { name: /Remove the filter/ }).click();
    await page.getByRole('row', { name: /^Soup 100.0 %/ }).waitFor();
    assert.equal(counts, 1);
    browser.forgive(/status of 400/);
    await page.context().close();
  });

  it('have the heads of their own groups, also where two have one name or are renamed', async () => {
    const { id, dish, submit } = await dishesSurvey(admin);
    for (const name of ['Poster', 'Poster']) await admin.create(`/surveys/${id}/collectors`, { name });
    await submit(0, true);
    await counted(id, 1);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/results?compare=collector` });
    const card = page.getByRole('article', { name: /Again/ });
    const heads = (name: RegExp) => card.getByRole('columnheader', { name });
    await eventually(async () => assert.equal(await heads(/^Poster/).count(), 2));
    await page.getByRole('button', { name: /Compare by/ }).click();
    await page.getByRole('option', { name: 'Outcome' }).click();
    await heads(/^Completed/).waitFor();
    assert.equal(await heads(/^Poster/).count(), 0);
    await goTo(page, `/surveys/${id}/results?compare=${dish.id}`);
    await heads(/^Soup/).waitFor();
    const [soup, pasta] = dish.options;
    await admin.put(`/surveys/questions/${dish.id}`, { options: [{ ...soup, text: 'Potage' }, pasta] });
    await heads(/^Potage/).waitFor();
    await card.getByText('Potage: ').waitFor();
    await page.context().close();
  });

  it('are compared with as many filters as leave room for those of the groups', async () => {
    const fruits = Array.from({ length: 20 }, (_, n) => ({ text: `Fruit ${n}` }));
    const { id, questions } = await publishedSurvey(admin, { title: 'Filtered' }, [
      { type: 'CHECKBOXES', text: 'Which fruits?', options: fruits },
      { type: 'YES_NO', text: 'Again?' },
    ]);
    const [fruit, again] = questions;
    const answers = [
      ...(fruit?.options ?? []).map(({ id: optionId }) => ({ questionId: fruit?.id, optionId })),
      { questionId: again?.id, optionId: again?.options[0]?.id },
    ];
    assert.equal((await admin.submit(id, { answers })).status, 201);
    await counted(id, 1);
    const path = (filters: number) => {
      const filter = fruits.slice(0, filters).map((_, n) => `${fruit?.id}:fruit-${n}`);
      return `/surveys/${id}/results?compare=${again?.id}&filter=${encodeURIComponent(JSON.stringify(filter))}`;
    };
    const page = await signedInPage(browser, service, { path: path(19) });
    const card = page.getByRole('article', { name: '2. Again?' });
    await card.getByText(/^Yes: 1 answered/).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Add filter' }).isDisabled(), true);
    await page.getByRole('button', { name: /Compare by/ }).click();
    await page.getByRole('option', { name: 'Nothing' }).click();
    await card.getByText(/^1 answered/).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Add filter' }).isDisabled(), false);
    await goTo(page, path(20));
    await page.getByRole('button', { name: 'Remove the filter 1. Which fruits?: Fruit 19' }).waitFor();
    await card.getByText(/^1 answered/).waitFor();
    assert.equal(await page.getByRole('button', { name: /Compare by/ }).isDisabled(), true);
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.context().close();
  });
});
