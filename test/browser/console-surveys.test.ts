import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Locator } from 'playwright-core';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { assertAccessible, goTo, keepMessages, keyTitles, newConsoleUser, signedInPage } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the list of surveys', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  // Other tests have surveys in the same list.
  const lunch = `Lunch ${randomUUID()}`;

  it('creates a blank survey, which leads into it', async () => {
    const page = await signedInPage(browser, service);
    await page.getByRole('button', { name: 'New survey' }).first().waitFor();
    await page.keyboard.press('n');
    const dialog = page.getByRole('dialog', { name: 'New survey' });
    await dialog.getByLabel('Title').fill(lunch);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/surveys\/[^/]+\/build$/);
  });

  it('is searched, filtered and sorted, and its address names what is seen', async () => {
    const list = `List ${randomUUID().slice(0, 8)}`;
    const inOrder = ['Alpha', 'Beta', 'Gamma'].map((name) => `${list} ${name}`);
    for (const title of inOrder) await admin.create('/surveys', { title });
    const page = await signedInPage(browser, service);
    await page.getByLabel('Search surveys').fill(list);
    await page.waitForURL(/search=List/);
    await page.getByRole('button', { name: 'Title', exact: true }).click();
    await page.waitForURL(/sort=title/);
    const titles = () => page.getByRole('table').getByRole('link').allTextContents();
    await eventually(async () => assert.deepEqual(await titles(), inOrder));
    await page.reload();
    await eventually(async () => assert.deepEqual(await titles(), inOrder));
    assert.equal(await page.getByLabel('Search surveys').inputValue(), list);
    // Screen readers read what changes in an element that they know, not a new one.
    const found = await page.locator('main [role=status].visually-hidden').elementHandle();
    const isSaid = (text: string) => eventually(async () => assert.equal(await found?.textContent(), text));
    await isSaid('Surveys: 3');
    await page.getByRole('button', { name: /Status/ }).click();
    await page.getByRole('option', { name: 'Closed' }).click();
    await page.getByRole('heading', { name: 'No survey fits' }).waitFor();
    await isSaid('Surveys: 0');
  });

  it('opens a survey at what its reader may do there', async () => {
    const title = `Opened ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    const page = await signedInPage(browser, service, { path: `/surveys?search=${title}` });
    await page.getByRole('link', { name: title }).click();
    await page.waitForURL(`**/surveys/${id}/build`);
    await page.getByRole('link', { name: 'Build' }).and(page.locator('[aria-current=page]')).waitFor();
    await page.goBack();
    await page.waitForURL(/search=Opened/);

    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    const theirs = await signedInPage(browser, service, { path: `/surveys/${id}`, as: viewer });
    await theirs.waitForURL(new RegExp(`/surveys/${id}/\\w+$`));
    await theirs.getByRole('navigation', { name: 'Survey' }).locator('[aria-current=page]').waitFor();
  });

  it('brings a deleted survey back within some seconds', async () => {
    const title = `Deleted by mistake ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    const page = await signedInPage(browser, service, { path: `/surveys?search=${title}` });
    await keepMessages(page);
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('link', { name: title }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: title }).waitFor();
    assert.equal((await admin.get(`/surveys/${id}`)).title, title);
  });

  it('goes to the last page that there is when the only survey of the shown one is deleted', async () => {
    const list = `Paged ${randomUUID().slice(0, 8)}`;
    for (let n = 10; n <= 60; n += 1) await admin.create('/surveys', { title: `${list} ${n}` });
    const page = await signedInPage(browser, service, { path: `/surveys?search=${list}&sort=title` });
    await keepMessages(page);
    const [first, last] = [10, 60].map((n) => page.getByRole('link', { name: `${list} ${n}` }));
    const pages = page.getByRole('navigation', { name: 'Pages' });
    await pages.getByRole('button', { name: 'Next' }).click();
    await last?.waitFor();
    await pages.getByRole('button', { name: 'Next' }).and(page.locator('[aria-disabled=true]:focus')).waitFor();
    const visited = await page.evaluate('history.length');
    await page.getByRole('button', { name: `Actions of ${list} 60` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await first?.waitFor();
    assert.equal(await page.getByRole('heading', { name: /^No survey/ }).count(), 0);
    assert.equal(await page.evaluate('history.length'), visited, 'the browser’s Back leads to no empty page');
    await page.getByRole('button', { name: 'Undo' }).click();
    await pages.getByRole('button', { name: 'Next' }).click();
    await last?.waitFor();
    await page.goto(`${service.origin}/surveys?search=${list}&sort=title&page=9`);
    await last?.waitFor();
    await page.context().close();
  });

  it('deletes for good when the time to undo is over', async () => {
    const title = `Deleted for good ${randomUUID()}`;
    const { id } = await admin.create('/surveys', { title });
    const page = await signedInPage(browser, service, { path: `/surveys?search=${title}` });
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.clock.install();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText(`“${title}” is deleted.`).waitFor();
    await page.clock.fastForward(20_000);
    await eventually(async () => assert.equal((await admin.call('GET', `/surveys/${id}`)).status, 404));
  });

  it('says what went wrong, and loads when asked again', async () => {
    const page = await signedInPage(browser, service, { path: `/surveys?search=${randomUUID()}` });
    await page.getByRole('heading', { name: 'No survey fits' }).waitFor();
    const problem = { message: 'no', code: 'FORBIDDEN', details: null, requestId: 'r' };
    await page.route('**/api/v1/surveys?**', (route) => route.fulfill({ status: 403, json: problem }));
    await page.getByLabel('Search surveys').fill(randomUUID());
    await page.getByRole('heading', { name: 'This could not be loaded' }).waitFor();
    await page.unroute('**/api/v1/surveys?**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'No survey fits' }).waitFor();
    browser.forgive(/status of 403/);
  });

  it('shows the current place in its navigation on a narrow window', async () => {
    const { id } = await admin.create('/surveys', { title: `Narrow ${randomUUID()}` });
    const page = await signedInPage(browser, service, {
      path: `/surveys/${id}/settings`,
      viewport: { width: 360, height: 740 },
    });
    const isShown = async (navigation: string) => {
      const current = page.getByRole('navigation', { name: navigation }).locator('[aria-current="page"]');
      await eventually(async () => {
        const { x = -1, width = 0 } = (await current.boundingBox({ timeout: 2000 })) ?? {};
        assert.ok(x >= 0 && x + width <= 360, `${await current.textContent()} is at ${x}`);
      });
    };
    await isShown('Survey');
    await isShown('Console');
    await page.goto(`${service.origin}/service`);
    await isShown('Console');
  });

  it('has room for a long e-mail address, in a narrow window and beside a wide one', async () => {
    const user = await newConsoleUser(service, admin, 'VIEWER');
    assert.ok(user.email.length > 40);
    const page = await signedInPage(browser, service, { as: user, viewport: { width: 320, height: 640 } });
    const address = page.getByText(user.email);
    await address.waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320);
    await page.setViewportSize({ width: 1440, height: 900 });
    const [main, shown] = [await page.getByRole('main').boundingBox(), await address.boundingBox()];
    assert.ok(shown && main && shown.x + shown.width <= main.x, `${JSON.stringify(shown)} reaches into the content`);
    await page.context().close();
  });

  it('lists its keys, goes anywhere, and is accessible', async () => {
    const page = await signedInPage(browser, service);
    await page.getByRole('table', { name: 'Surveys' }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await keys.getByText('Go anywhere').waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await keys.waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    assert.equal(await page.evaluate('document.activeElement.hasAttribute("data-main-search")'), true);
    await page.keyboard.press('Control+k');
    // The dialog is seen a moment before its field has the focus.
    await page.getByRole('dialog', { name: 'Go to' }).locator('input:focus').waitFor();
    await page.keyboard.type(lunch);
    await page.getByRole('menuitem', { name: lunch }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: lunch }).waitFor();
  });

  it('gives the focus to the content of a view that was gone to, unless something else has it', async () => {
    const title = `Gone to ${randomUUID()}`;
    await admin.create('/surveys', { title });
    const page = await signedInPage(browser, service, { path: `/surveys?search=${title}` });
    const link = page.getByRole('link', { name: title });
    const isRead = (name: string) => page.getByRole('main', { name }).and(page.locator(':focus')).waitFor();
    await link.waitFor();
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'BODY', 'the first view begins at its top');
    await link.press('Enter');
    await isRead(title);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).locator('input:focus').waitFor();
    await page.keyboard.type('People');
    await page.getByRole('menuitem', { name: 'People', exact: true }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await isRead('People');
    await page.goBack();
    await isRead(title);
    const tab = page.getByRole('navigation', { name: 'Survey' }).getByRole('link', { name: 'Settings' });
    await tab.press('Enter');
    await page.getByRole('heading', { name: 'Look and end' }).waitFor();
    await tab.and(page.locator(':focus')).waitFor();
    await page.context().close();
  });

  it('writes titles in their own direction, also in the survey and in Build', async () => {
    const { id } = await admin.create('/surveys', { title: `استطلاع ${randomUUID()}` });
    await admin.create(`/surveys/${id}/sections`, { title: 'القسم الأول' });
    const { title } = await admin.get(`/surveys/${id}`);
    const page = await signedInPage(browser, service, { path: `/surveys?search=${encodeURIComponent(title)}` });
    const isFromTheRight = (shown: Locator) => shown.and(page.locator(':dir(rtl)')).waitFor();
    const link = page.getByRole('link', { name: title });
    await isFromTheRight(link);
    await link.click();
    await isFromTheRight(page.getByRole('heading', { name: title, level: 1 }));
    const field = page.getByRole('textbox', { name: 'Title' });
    await page.getByRole('list', { name: 'Outline' }).getByText('القسم الأول').click();
    await eventually(async () => assert.equal(await field.inputValue(), 'القسم الأول'));
    await isFromTheRight(field);
    await page.getByRole('list', { name: 'Outline' }).getByText(title).click();
    await eventually(async () => assert.equal(await field.inputValue(), title));
    await isFromTheRight(field);
    await page.context().close();
  });

  it('offers a VIEWER no key that makes a survey', async () => {
    const viewer = await newConsoleUser(service, admin, 'VIEWER');
    const page = await signedInPage(browser, service, { as: viewer });
    await page.getByRole('heading', { name: 'No surveys yet' }).waitFor();
    await page.keyboard.press('n');
    assert.equal((await keyTitles(page)).includes('New survey'), false);
    await page.context().close();
  });

  it('says of a row which one of the whole list it is, on later pages too, as other lists do', async () => {
    const page = await signedInPage(browser, service);
    for (const [path, calls] of [
      ['/surveys', '**/api/v1/surveys?*'],
      ['/audit', '**/api/v1/audit?*'],
    ] as const) {
      await page.route(calls, async (route) => {
        const response = await route.fetch({ url: route.request().url().replace('page=2', 'page=1') });
        const json = await response.json();
        json.pagination.total = 50 + json.data.length;
        await route.fulfill({ response, json });
      });
      await goTo(page, `${path}?page=2`);
      await page.getByRole('navigation', { name: 'Pages' }).getByText(/^51–/).waitFor();
      assert.equal(await page.locator('[role=row][data-row="0"]').getAttribute('aria-rowindex'), '52', path);
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });
});
