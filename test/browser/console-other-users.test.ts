import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { fillSignIn, goTo, keepMessages, newConsoleUser, signedInPage, userPassword } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { holdCalls } from '../support/held-calls.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('the console of one user where somebody else signs in', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  // The browser is closed before the service: pages would report that they cannot reconnect.
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));

  it('deletes nothing in the name of somebody else who signs in before the time to undo is over', async () => {
    const [editor, other] = [
      await newConsoleUser(service, admin, 'EDITOR'),
      await newConsoleUser(service, admin, 'ADMIN'),
    ];
    const title = `Whose ${randomUUID()}`;
    const { id } = await editor.client.create('/surveys', { title });
    const page = await browser.open({ viewport: { width: 1440, height: 900 } });
    await page.clock.install();
    await page.goto(`${service.origin}/sign-in?next=${encodeURIComponent(`/surveys?search=${title}`)}`);
    await fillSignIn(page, editor);
    await page.getByRole('link', { name: title }).waitFor();
    await keepMessages(page);
    const deletions: string[] = [];
    page.on('request', (request) => request.method() === 'DELETE' && deletions.push(request.url()));
    await page.getByRole('button', { name: `Actions of ${title}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText(`“${title}” is deleted.`).waitFor();
    await editor.client.post('/auth/logout', { everywhere: true });
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await page.clock.fastForward(20_000);
    await again.getByLabel('E-mail').fill(other.email);
    await again.getByLabel('Password').fill(other.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: other.email }).waitFor();
    await page.getByRole('link', { name: title }).waitFor();
    assert.equal(await page.getByText(`“${title}” is deleted.`).count(), 0, 'what the user before did is not shown');
    // The time to undo, as `keepMessages` extends it.
    await page.clock.fastForward(2 ** 30);
    await page.getByRole('link', { name: title }).waitFor();
    assert.deepEqual(deletions, []);
    assert.equal((await admin.get(`/surveys/${id}`)).title, title);
    browser.forgive(/status of 401/);
    await page.context().close();
  });

  it('makes nothing in the name of somebody else who signs in while it is being sent', async () => {
    const [editor, other] = [
      await newConsoleUser(service, admin, 'EDITOR'),
      await newConsoleUser(service, admin, 'ADMIN'),
    ];
    const title = `Sent ${randomUUID()}`;
    const page = await signedInPage(browser, service, { as: editor });
    const held = await holdCalls(page, (url) => url.pathname === '/api/v1/surveys', {
      answer: async (route, isReleased) => {
        if (route.request().method() !== 'POST') return route.fallback();
        await isReleased;
        await route.continue();
      },
    });
    let sent = 0;
    page.on('request', (request) => {
      if (request.postData()?.includes(title)) sent += 1;
    });
    // The key does nothing before the rights of the user are known.
    await page.getByRole('button', { name: 'New survey' }).first().waitFor();
    await page.keyboard.press('n');
    await page.getByRole('dialog', { name: 'New survey' }).getByLabel('Title').fill(title);
    await page.keyboard.press('Enter');
    await eventually(() => assert.equal(sent, 1));
    await editor.client.post('/auth/logout', { everywhere: true });
    await goTo(page, `/surveys?search=${encodeURIComponent(title)}`);
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.getByLabel('E-mail').fill(other.email);
    await again.getByLabel('Password').fill(other.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: other.email }).waitFor();
    const refused = page.waitForResponse((reply) => reply.url().endsWith('/api/v1/surveys') && reply.status() === 401);
    held.release();
    await refused;
    await page.evaluate(`(async () => {
      for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
    })()`);
    assert.equal(sent, 1);
    assert.deepEqual(await admin.get(`/surveys?search=${encodeURIComponent(title)}`), []);
    assert.equal(await page.getByRole('dialog', { name: 'Your session has ended' }).count(), 0);
    browser.forgive(/status of 401/);
    await page.context().close();
  });

  it('nobody acts in the name of somebody else who has signed in in another tab', async () => {
    const [one, other] = [
      await newConsoleUser(service, admin, 'ADMIN'),
      await newConsoleUser(service, admin, 'VIEWER'),
    ];
    const { id } = await one.client.create('/surveys', { title: 'Whose' });
    const { id: question } = await one.client.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/build?item=${question}`, as: one });
    await page.getByRole('textbox', { name: 'Text', exact: true }).waitFor();
    const second = await page.context().newPage();
    await page.context().clearCookies();
    await second.goto(`${service.origin}/sign-in`);
    await fillSignIn(second, other);
    await second.getByRole('navigation', { name: 'Console' }).waitFor();
    const users = new Set<string>();
    page.on('request', (request) => {
      const [, payload = ''] = (request.headers()['authorization'] ?? '').split('.');
      if (payload !== '') users.add((JSON.parse(atob(payload)) as { sub: string }).sub);
    });
    // The access token has expired.
    await page.evaluate('{ const { now } = Date; Date.now = () => now() + 86_400_000; }');
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('How likely?');
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password').fill(userPassword);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).questions[0].text, 'How likely?'));
    assert.deepEqual([...users], [one.id]);
    await page.context().close();
  });

  it('what one user could not save is forgotten, and not sent, when another signs in', async () => {
    const [one, other] = [await newConsoleUser(service, admin, 'ADMIN'), await newConsoleUser(service, admin, 'ADMIN')];
    const { id } = await one.client.create('/surveys', { title: 'Left behind' });
    await one.client.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Likely?' });
    const page = await signedInPage(browser, service, { path: `/surveys/${id}/settings`, as: one });
    await page.getByRole('textbox', { name: 'Closing text' }).fill('Thanks from one');
    const views = page.getByRole('navigation', { name: 'Survey' });
    await views.getByText('Build').click();
    const text = page.getByRole('textbox', { name: 'Text', exact: true });
    const calls = '**/api/v1/surveys/questions/*';
    await page.route(calls, (route) => route.abort());
    await text.fill('How likely?');
    await page.getByText('Not saved:').waitFor();
    await page.getByRole('button', { name: one.email }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(/sign-in/);
    await page.unroute(calls);
    let changes = 0;
    page.on('request', (request) => {
      if (request.method() === 'PUT') changes += 1;
    });
    await fillSignIn(page, other);
    await page.getByRole('link', { name: 'Left behind' }).first().click();
    await views.getByText('Build').click();
    await page.getByRole('list', { name: 'Outline' }).getByText('Likely?').click();
    assert.equal(await text.inputValue(), 'Likely?');
    await views.getByText('Settings').click();
    assert.equal(await page.getByRole('textbox', { name: 'Closing text' }).inputValue(), '');
    // Longer than the pause after which Build tries again.
    await new Promise((resolve) => setTimeout(resolve, 5500));
    assert.equal(changes, 0);
    assert.equal((await admin.get(`/surveys/${id}`)).questions[0].text, 'Likely?');
    browser.forgive(/ERR_FAILED/);
    await page.context().close();
  });
});
