import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('an EDITOR with whom a survey is shared', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  /** A survey with a quota, a response and one text, opened by an EDITOR who is its member with `role`. */
  const shared = async (role: 'EDITOR' | 'VIEWER') => {
    const { id } = await admin.create('/surveys', { title: 'Shared' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'What did you like?' });
    const where = { questionId: question.id, operator: 'answered' };
    await admin.create(`/surveys/${id}/quotas`, { name: 'All', limit: 10, where });
    await admin.post(`/surveys/${id}/publish`);
    await admin.create(`/responses/surveys/${id}/submit`, {
      answers: [{ questionId: question.id, textValue: 'The soup' }],
    });
    await eventually(async () => assert.equal((await admin.get(`/responses/surveys/${id}`)).length, 1));
    const member = await newConsoleUser(service, admin, 'EDITOR');
    await admin.put(`/surveys/${id}/members/${member.id}`, { role });
    const page = await signedInPage(browser, service, { as: member });
    const open = (view: string) => page.goto(`${service.origin}/surveys/${id}/${view}`);
    return { page, open };
  };

  /** The buttons of every view whose calls need the right to edit, in the order in which they are looked for. */
  const editingButtons = async (role: 'EDITOR' | 'VIEWER') => {
    const { page, open } = await shared(role);
    const found: string[] = [];
    const look = async (name: RegExp, kind: 'button' | 'menuitem' = 'button') => {
      for (const button of await page.getByRole(kind, { name }).all())
        found.push((await button.getAttribute('aria-label')) ?? (await button.textContent()) ?? '');
    };
    await open('publish');
    await page.getByRole('button', { name: 'Actions of Default' }).click();
    await page.getByRole('menuitem', { name: 'Copy the link' }).waitFor();
    await look(/^(Change|Pause)$/, 'menuitem');
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await look(/^(Pause|Close the survey|New collector)$/);
    if (await page.getByLabel('Start').isEnabled()) found.push('Start');
    await open('quotas');
    await page.getByRole('table', { name: 'Quotas' }).getByText('All').waitFor();
    await look(/^(New quotas|Actions of All)$/);
    await open('texts');
    await page.getByRole('region', { name: 'Answers' }).getByText('The soup').waitFor();
    await page.getByRole('heading', { name: 'Sentiment' }).waitFor();
    await look(/^Analyse: /);
    await open('reports');
    await page.getByRole('heading', { name: 'No reports yet' }).waitFor();
    await look(/^New report$/);
    await open('responses');
    await page.getByRole('table', { name: 'Responses' }).getByText('The soup').click();
    await page.getByRole('dialog', { name: 'Response' }).getByText('What did you like?').waitFor();
    await look(/^Delete the response$/);
    await page.context().close();
    return found;
  };

  it('as VIEWER has no button that ends in a refusal', async () => {
    assert.deepEqual(await editingButtons('VIEWER'), []);
  });

  it('as EDITOR has them all', async () => {
    assert.deepEqual(await editingButtons('EDITOR'), [
      'Change',
      'Pause',
      'Pause',
      'Close the survey',
      'New collector',
      'Start',
      'New quotas',
      'Actions of All',
      'Analyse: sentiment',
      'Analyse: themes',
      'Analyse: summary',
      'New report',
      'Delete the response',
    ]);
  });

  it('is not offered to delete the own survey any more once the role is VIEWER', async () => {
    const owner = await newConsoleUser(service, admin, 'EDITOR');
    await owner.client.create('/surveys', { title: 'Owned' });
    await admin.put(`/users/${owner.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, { as: owner });
    await page.getByRole('button', { name: 'Actions of Owned' }).click();
    const remove = page.getByRole('menuitem', { name: 'Delete' });
    assert.equal(await remove.getAttribute('aria-disabled'), 'true');
    await page.context().close();
  });
});
