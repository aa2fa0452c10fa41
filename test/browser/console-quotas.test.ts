import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { stopClock } from '../support/stopped-clock.ts';
import { useService } from '../support/use-service.ts';

describe('the screen Quotas', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  const newPanel = async () => {
    const { id } = await admin.create('/surveys', { title: 'Panel' });
    const ask = (text: string, options: string[]) =>
      admin.create(`/surveys/${id}/questions`, {
        type: 'MULTIPLE_CHOICE',
        text,
        options: options.map((option) => ({ text: option })),
      });
    const region = await ask('Region', ['North', 'South']);
    const age = await ask('Age', ['18-39', '40+']);
    await admin.post(`/surveys/${id}/publish`);
    return { id: id as string, ask, region, age };
  };

  it('makes interlocked cells, which fill while responses arrive', async () => {
    const { id, region, age } = await newPanel();
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    await page.getByRole('heading', { name: 'No quotas' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'New quotas' }).click();
    const dialog = page.getByRole('dialog', { name: 'New quotas' });
    await dialog.getByRole('button', { name: /Interlocked with/ }).click();
    await page.getByRole('option', { name: 'Age' }).click();
    await dialog.getByRole('textbox', { name: 'Responses a cell' }).fill('2');
    await page.keyboard.press('Tab');
    // The cells follow when the field is left.
    const cell = dialog.getByRole('textbox', { name: 'North, 18-39' });
    await eventually(async () => assert.equal(await cell.inputValue(), '2'));
    await dialog.getByRole('textbox', { name: 'North, 18-39' }).fill('1');
    await dialog.getByRole('textbox', { name: 'South, 40+' }).fill('');
    await page.keyboard.press('Tab');
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Create 3 quotas' }).click();
    await dialog.waitFor({ state: 'detached' });
    const quotas = () => admin.get(`/surveys/${id}/quotas`);
    assert.deepEqual(
      (await quotas()).map(({ limit }: { limit: number }) => limit),
      [1, 2, 2],
    );
    await eventually(async () =>
      assert.ok((await quotas()).every(({ isCounting }: { isCounting: boolean }) => !isCounting)),
    );

    const table = page.getByRole('table', { name: 'Quotas' });
    await table.getByText('0 of 1').waitFor();
    const answers = [region, age].map((question) => ({
      questionId: question.id,
      optionId: question.options[0].id,
    }));
    await admin.create(`/responses/surveys/${id}/submit`, { answers });
    // Nothing is reloaded: the live stream says it.
    await table.getByText('1 of 1').waitFor();
    await table.getByText('Full', { exact: true }).waitFor();
    await assertAccessible(page);
  });

  it('interlocks three questions, and says when they have more combinations than there can be quotas', async () => {
    const { id, ask } = await newPanel();
    const many = Array.from({ length: 200 }, (_, index) => ({ text: `Town ${index}` }));
    await ask('Gender', ['Women', 'Men', 'Other']);
    await admin.create(`/surveys/${id}/questions`, { type: 'DROPDOWN', text: 'Town', options: many });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    await page.getByRole('button', { name: 'New quotas' }).click();
    const dialog = page.getByRole('dialog', { name: 'New quotas' });
    const choose = async (field: RegExp, option: string) => {
      await dialog.getByRole('button', { name: field }).click();
      await page.getByRole('option', { name: option }).click();
    };
    await choose(/Interlocked with/, 'Gender');
    await choose(/And with/, 'Town');
    await dialog.getByText('1,200 combinations').waitFor();
    assert.ok(await dialog.getByRole('button', { name: 'Create 0 quotas' }).isDisabled());
    await choose(/And with/, 'Age');
    await choose(/Counts/, 'Partial ones too');
    await dialog.getByRole('textbox', { name: 'South, Other, 40+' }).fill('');
    await page.keyboard.press('Tab');
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Create 11 quotas' }).click();
    await dialog.waitFor({ state: 'detached' });
    const quotas = await admin.get(`/surveys/${id}/quotas`);
    assert.deepEqual([quotas.length, quotas[0].name], [11, 'North × Women × 18-39']);
    assert.ok(quotas.every(({ counts }: { counts: string }) => counts === 'STARTED'));
  });

  it('makes a quota by condition, and changes the condition and which responses count', async () => {
    const { id, region, age } = await newPanel();
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    await page.getByRole('button', { name: 'New quota by condition' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Elders');
    const create = dialog.getByRole('button', { name: 'Create the quota' });
    assert.ok(await create.isDisabled(), 'the condition is not complete yet');
    await dialog.getByText('40+').click();
    await assertAccessible(page);
    await create.click();
    const row = page.getByRole('row').filter({ hasText: 'Elders' });
    await row.getByText('Age is 40+').waitFor();
    const stored = async () => (await admin.get(`/surveys/${id}/quotas`))[0];
    const isElder = { questionId: age.id, operator: 'isAnyOf', optionIds: [age.options[1].id] };
    const { where, counts } = await stored();
    assert.deepEqual({ where, counts }, { where: isElder, counts: 'COMPLETED' });

    await page.getByRole('button', { name: 'Actions of Elders' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog.getByRole('button', { name: 'Add condition' }).click();
    await dialog.getByRole('combobox', { name: 'About' }).last().fill('Region');
    await page.getByRole('option', { name: '1. Region' }).click();
    await dialog.getByText('South').click();
    await dialog.getByRole('button', { name: /Counts/ }).click();
    await page.getByRole('option', { name: 'Partial ones too' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('Age is 40+ and Region is South').waitFor();
    const isSouthern = { questionId: region.id, operator: 'isAnyOf', optionIds: [region.options[1].id] };
    const changed = await stored();
    assert.deepEqual([changed.where, changed.counts], [{ all: [isElder, isSouthern] }, 'STARTED']);
  });

  it('edits, pauses and deletes a quota', async () => {
    const { id, region } = await newPanel();
    const [{ name }] = await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [region.id], limit: 5 });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas` });
    const act = async (action: string) => {
      await page.getByRole('button', { name: `Actions of ${name}`, exact: true }).click();
      await page.getByRole('menuitem', { name: action }).click();
    };
    const row = page.getByRole('row').filter({ hasText: name });
    await act('Edit');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Responses at most' }).fill('9');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('0 of 9').waitFor();
    await act('Pause');
    await row.getByText('Paused').waitFor();
    assert.equal((await admin.get(`/surveys/${id}/quotas`))[0].isActive, false);
    await act('Delete');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the quota' }).click();
    await row.waitFor({ state: 'detached' });
    assert.equal((await admin.get(`/surveys/${id}/quotas`)).length, 1);
  });

  it('shows a VIEWER the counts and changes nothing', async () => {
    const { id, region } = await newPanel();
    await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [region.id], limit: 5 });
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/quotas`, as: viewer });
    await page.getByRole('table', { name: 'Quotas' }).getByText('0 of 5').first().waitFor();
    assert.equal(await page.getByRole('button', { name: /^(New quotas|Actions of)/ }).count(), 0);
  });

  it('reads a thousand quotas that are being counted in fewer calls than a user has', async () => {
    const { id, region } = await newPanel();
    const [quota] = await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [region.id], limit: 5 });
    for (const { id: one } of await admin.get(`/surveys/${id}/quotas`))
      await admin.remove(`/surveys/${id}/quotas/${one}`);
    const page = await signedInPage(browser, service);
    const pass = await stopClock(page);
    let calls = 0;
    // The live stream does not name those that are not active.
    const counted = { ...quota, isActive: false, isCounting: true };
    await page.route('**/quotas?*', (route) => {
      calls += 1;
      const number = Number(new URL(route.request().url()).searchParams.get('page'));
      const data = Array.from({ length: 100 }, (_, index) => ({ ...counted, id: `${number}-${index}` }));
      return route.fulfill({ json: { success: true, data, pagination: { page: number, limit: 100, total: 1000 } } });
    });
    await goTo(page, `/surveys/${id}/quotas`);
    const table = page.getByRole('table', { name: 'Quotas' });
    await eventually(async () => {
      await pass(1);
      assert.ok((await table.getByText(quota.name).count()) > 0);
    });
    calls = 0;
    await pass(60);
    assert.ok(calls >= 30 && calls <= 70, `${calls} calls`);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });

  it('saves one of many with a call that reads its page, and without reading all of them again', async () => {
    const { id, region } = await newPanel();
    const [made] = await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [region.id], limit: 5 });
    for (const { id: one } of await admin.get(`/surveys/${id}/quotas`))
      await admin.remove(`/surveys/${id}/quotas/${one}`);
    // The live stream, which has the list read anew where it names others, does not name those that are not active.
    const quota = { ...made, isActive: false, isCounting: false };
    const page = await signedInPage(browser, service);
    // What is polled is none of these calls.
    await page.evaluate(`{
      const repeat = setInterval;
      globalThis.setInterval = (run, ms, ...rest) => repeat(run, ms === 15_000 ? 2 ** 30 : ms, ...rest);
    }`);
    let calls: string[] = [];
    await page.route('**/quotas?*', (route) => {
      const number = new URL(route.request().url()).searchParams.get('page') ?? '';
      calls.push(number);
      const others = Array.from({ length: 99 }, (_, index) => ({ ...quota, id: `${number}-${index}`, name: 'Other' }));
      const data = [{ ...quota, ...(number !== '1' && { id: number, name: 'Other' }) }, ...others];
      const pagination = { page: Number(number), limit: 100, total: 300 };
      return route.fulfill({ json: { success: true, data, pagination } });
    });
    await page.route(`**/quotas/${quota.id}`, (route) =>
      route.fulfill({ json: { success: true, data: { ...quota, ...route.request().postDataJSON() } } }),
    );
    await goTo(page, `/surveys/${id}/quotas`);
    await page.getByRole('button', { name: `Actions of ${quota.name}`, exact: true }).click();
    assert.deepEqual(calls, ['1', '2', '3']);
    calls = [];
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Responses at most' }).fill('9');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('0 of 9').waitFor();
    assert.deepEqual(calls, ['1']);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });
});
