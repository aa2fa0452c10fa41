import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import { hotelSurvey } from '../support/hotel-survey.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('conditions in Build', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const questionsOf = async (id: string): Promise<any[]> => (await admin.get(`/surveys/${id}`)).questions;

  it('names a new option in a condition that is made before the service has given it an id', async () => {
    const { id } = await admin.create('/surveys', { title: 'Early condition' });
    const options = [{ text: 'Soup' }, { text: 'Pasta' }];
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Dish?', options });
    const why = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Why?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    const held = await holdCalls(page, `**/surveys/questions/${dish.id}*`);
    const refused = page.waitForResponse((reply) => reply.url().includes(why.id) && reply.status() === 400);
    await page.getByRole('button', { name: 'Add option' }).click();
    await page
      .getByRole('list', { name: 'Outline' })
      .getByRole('button', { name: /Why\?$/ })
      .click();
    await page.getByRole('region', { name: 'Logic' }).getByRole('button', { name: 'Add condition' }).click();
    const dialog = page.getByRole('dialog', { name: 'Show if' });
    await dialog.getByRole('checkbox', { name: 'Option 3', exact: true }).check({ force: true });
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await refused;
    held.release();
    await eventually(async () => {
      const [{ options: saved }, { visibleIf }] = await questionsOf(id);
      assert.equal(saved.length, 3);
      assert.deepEqual(visibleIf?.optionIds, [saved[2].id]);
    });
    browser.forgive(/status of 400/);
  });

  it('says conditions in sentences, and edits them', async () => {
    const { id, questions } = await hotelSurvey(admin);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${questions.dishes.id}` });
    const logic = page.getByRole('region', { name: 'Logic' });
    await logic.getByText('Show if Did you have breakfast? is Yes.').waitFor();
    await assertAccessible(page);
    await logic.getByRole('button', { name: 'Edit condition' }).click();
    const dialog = page.getByRole('dialog', { name: 'Show if' });
    await dialog.getByRole('checkbox', { name: 'No', exact: true }).check({ force: true });
    await dialog.getByText('Did you have breakfast? is Yes or No').waitFor();
    await dialog.getByRole('button', { name: 'Add condition' }).click();
    await dialog.getByText('The condition is not complete yet.').waitFor();
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Remove condition 2' }).click();
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => {
      const dishes = (await questionsOf(id)).find((question) => question.id === questions.dishes.id);
      assert.equal(dishes.visibleIf.optionIds.length, 2);
    });
  });

  it('names options and sections as they read, where their texts insert earlier answers', async () => {
    const { id } = await admin.create('/surveys', { title: 'Inserted' });
    const { id: name } = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Dish?' });
    const inserted = `{{question:${name}|the dish}}`;
    const options = [{ text: `Like ${inserted}` }, { text: 'Pasta' }];
    const body = { type: 'CHECKBOXES', text: `How was ${inserted}?`, options };
    const how = await admin.create(`/surveys/${id}/questions`, body);
    const likes = { questionId: how.id, operator: 'includesAny', optionIds: [how.options[0].id] };
    await admin.put(`/surveys/questions/${how.id}`, { skips: [{ if: likes, to: 'END' }] });
    await admin.create(`/surveys/${id}/sections`, { title: `After ${inserted}` });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${how.id}` });
    const logic = page.getByRole('region', { name: 'Logic' });
    await logic.getByText('Skip if How was the dish? includes Like the dish, to the end.').waitFor();
    await logic.getByRole('button', { name: 'Target of skip 1' }).click();
    await page.getByRole('option', { name: 'Section: After the dish' }).click();
    await logic.getByText('includes Like the dish, to section “After the dish”.').waitFor();
    await page.getByRole('button', { name: 'Remove Like the dish', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Condition of Like the dish', exact: true }).click();
    await page.getByRole('dialog', { name: 'Show “Like the dish” if' }).waitFor();
    await page.context().close();
  });

  it('copies a question without the skips that its own answers decide', async () => {
    const { id } = await admin.create('/surveys', { title: 'Skips' });
    const options = [{ text: 'Soup' }, { text: 'Pasta' }, { text: 'Cake' }];
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Dish?', options });
    const { id: later } = await admin.create(`/surveys/${id}/sections`, { title: 'Later' });
    const skips = dish.options.map((option: { id: string }) => ({
      if: { questionId: dish.id, operator: 'isAnyOf', optionIds: [option.id] },
      to: later,
    }));
    await admin.put(`/surveys/questions/${dish.id}`, { skips });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    await page.getByRole('button', { name: 'Duplicate the question' }).click();
    await eventually(async () => assert.equal((await questionsOf(id)).length, 2));
    const [original, copy] = await questionsOf(id);
    assert.deepEqual([original.skips.length, copy.skips], [3, []]);
    await page.context().close();
  });

  it('gives a new option its condition, though the option is saved while the condition is made', async () => {
    const { id } = await admin.create('/surveys', { title: 'New option' });
    await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Hungry?' });
    const options = [{ text: 'Soup' }, { text: 'Pasta' }];
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Dish?', options });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    await page.getByRole('button', { name: 'Add option' }).click();
    await page.getByRole('button', { name: 'Condition of Option 3' }).click();
    const dialog = page.getByRole('dialog', { name: 'Show “Option 3” if' });
    await dialog.getByRole('checkbox', { name: 'Yes', exact: true }).check({ force: true });
    await eventually(async () => assert.equal((await questionsOf(id))[1]?.options.length, 3));
    await page.getByText('Saved', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => {
      const [hungry, { options: saved }] = await questionsOf(id);
      assert.deepEqual(saved[2].visibleIf?.optionIds, [hungry.options[0].id]);
    });
    await page.context().close();
  });

  it('says that somebody else has changed a condition that is being edited', async () => {
    const { id } = await admin.create('/surveys', { title: 'Conditions' });
    const hungry = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Hungry?' });
    const { id: what } = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'What?' });
    const showIf = (place: number) =>
      admin.put(`/surveys/questions/${what}`, {
        visibleIf: { questionId: hungry.id, operator: 'isAnyOf', optionIds: [hungry.options[place].id] },
      });
    await showIf(0);
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${what}` });
    await page.getByRole('button', { name: 'Edit condition' }).click();
    const dialog = page.getByRole('dialog', { name: 'Show if' });
    await dialog.getByRole('checkbox', { name: 'No', exact: true }).check({ force: true });
    assert.equal(await dialog.getByText('Somebody else').count(), 0);
    await showIf(1);
    await dialog.getByText('Somebody else has changed this condition meanwhile.').waitFor();
    await dialog.getByText('Hungry? is No', { exact: false }).first().waitFor();
    await assertAccessible(page);
    await page.context().close();
  });

  /** A page with the dialog that edits the condition of the second of two questions. */
  const conditional = async (visibleIf: object | ((hungry: any) => object)) => {
    const { id } = await admin.create('/surveys', { title: 'Conditions' });
    const hungry = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Hungry?' });
    const condition = typeof visibleIf === 'function' ? visibleIf(hungry) : visibleIf;
    const dish = await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Dish?', visibleIf: condition });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${dish.id}` });
    await page.getByRole('region', { name: 'Logic' }).getByRole('button', { name: 'Edit condition' }).click();
    return { id, page, hungry, dialog: page.getByRole('dialog', { name: 'Show if' }) };
  };

  it('shows the languages of the condition that is left when the one before it is removed', async () => {
    const { id, page, dialog } = await conditional({ any: [{ language: ['de'] }, { language: ['fr'] }] });
    await dialog.getByRole('button', { name: 'Remove condition 1' }).click();
    const tags = dialog.getByRole('textbox', { name: 'Language tags' });
    await eventually(async () => assert.equal(await tags.inputValue(), 'fr'));
    await tags.focus();
    await page.keyboard.press('End');
    await page.keyboard.type(', it');
    assert.equal(await tags.inputValue(), 'fr, it');
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => assert.deepEqual((await questionsOf(id))[1].visibleIf, { language: ['fr', 'it'] }));
    await page.context().close();
  });

  it('edits a single condition that is negated as any other', async () => {
    const { id, page, hungry, dialog } = await conditional((asked) => ({
      not: { questionId: asked.id, operator: 'isAnyOf', optionIds: [asked.options[0].id] },
    }));
    const negated = dialog.getByRole('checkbox', { name: 'not', exact: true });
    await negated.waitFor({ state: 'attached' });
    assert.equal(await negated.isChecked(), true);
    await dialog.getByRole('button', { name: 'Add condition' }).waitFor();
    await negated.uncheck({ force: true });
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => assert.equal((await questionsOf(id))[1].visibleIf.questionId, hungry.id));
    await page.context().close();
  });

  it('keeps the focus in the field of a single condition that is typed in', async () => {
    const { id, page, dialog } = await conditional({ language: ['de'] });
    await dialog.getByRole('textbox', { name: 'Language tags' }).focus();
    await page.keyboard.press('End');
    await page.keyboard.type(', fr');
    assert.equal(await dialog.getByRole('textbox', { name: 'Language tags' }).inputValue(), 'de, fr');
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await eventually(async () => assert.deepEqual((await questionsOf(id))[1].visibleIf, { language: ['de', 'fr'] }));
    await page.context().close();
  });

  it('are counted above the path, with the pages as they are shown', async () => {
    const { id } = await admin.create('/surveys', { title: 'Counted' });
    const ask = (fields: object) => admin.create(`/surveys/${id}/questions`, fields);
    const again = await ask({ type: 'YES_NO', text: 'Again?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?pane=path` });
    await page.getByText('1 question on 1 page, 0 conditions, 0 skips.').waitFor();
    const visibleIf = { questionId: again.id, operator: 'answered' };
    const options = [{ text: 'Soup' }, { text: 'Salad', visibleIf }];
    await ask({ type: 'MULTIPLE_CHOICE', text: 'Which dish?', options });
    await admin.put(`/surveys/${id}`, { appearance: { pageMode: 'QUESTION' } });
    await page.reload();
    await page.getByText('2 questions on 2 pages, 1 condition, 0 skips.').waitFor();
    await page.context().close();
  });
});
