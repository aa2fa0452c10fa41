import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { axeFindings } from './axe-findings.ts';
import type { BrowserFixture } from './browser.ts';
import { type Client, createClient } from './client.ts';
import { eventually } from './eventually.ts';
import { publishedSurvey } from './page-fixture.ts';
import { adminEmail, adminPassword, type RunningService } from './service.ts';

export interface Credentials {
  email: string;
  password: string;
}

const firstAdmin: Credentials = { email: adminEmail, password: adminPassword };

export const userPassword = 'a good long password';

/** A new user with a password of its own, whom the console therefore asks for no other. */
export async function newConsoleUser(
  service: Pick<RunningService, 'base'>,
  admin: Client,
  role: 'ADMIN' | 'EDITOR' | 'VIEWER',
): Promise<Credentials & { id: string; client: Client }> {
  const email = `${role.toLowerCase()}-${randomUUID()}@example.org`;
  const given = 'a password of the administrator';
  const { id } = await admin.create('/users', { email, password: given, role });
  const { accessToken } = await createClient(service).post('/auth/login', { email, password: given });
  const client = createClient(service, accessToken);
  await client.post('/auth/password', { currentPassword: given, newPassword: userPassword });
  return { id, email, password: userPassword, client };
}

/** Fills the form of the sign-in page and sends it. */
export async function fillSignIn(page: Page, { email, password }: Credentials = firstAdmin): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Signs a user out of a page, where nothing is unsaved, and another one in. */
export async function signOutFor(page: Page, { email }: Credentials, next: Credentials): Promise<void> {
  await page.getByRole('button', { name: email }).click();
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
  await page.waitForURL(/sign-in/);
  await fillSignIn(page, next);
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
}

/** A page of the console, signed in as the first ADMIN unless others are named, at `path`. */
export async function signedInPage(
  browser: Pick<BrowserFixture, 'open'>,
  { origin }: Pick<RunningService, 'origin'>,
  { path = '/surveys', as = firstAdmin, ...options }: BrowserContextOptions & { path?: string; as?: Credentials } = {},
): Promise<Page> {
  const page = await browser.open({ viewport: { width: 1440, height: 900 }, ...options });
  await beginSession(page, origin, as);
  await page.goto(`${origin}${path}`);
  await page.getByRole('navigation', { name: 'Console' }).waitFor();
  return page;
}

/** What the sign-in page leaves in the browser, in a third of its time: the cookie, and the mark that there is one. */
async function beginSession(page: Page, origin: string, { email, password }: Credentials): Promise<void> {
  const reply = await page.request.post(`${origin}/api/v1/auth/login`, {
    headers: { origin },
    data: { email, password, session: 'cookie' },
  });
  assert.equal(reply.status(), 200, await reply.text());
  const blank = `${origin}/blank`;
  await page.route(blank, (route) => route.fulfill({ contentType: 'text/html', body: '' }));
  await page.goto(blank);
  await page.evaluate(`localStorage.setItem('has-session', '1')`);
  await page.unroute(blank);
}

/** Waits until the view says that it is live. */
export const isLive = (page: Page): Promise<void> => page.getByText('Live', { exact: true }).waitFor();

/** Goes to an address as a link of the console does. */
export const goTo = (page: Page, href: string): Promise<unknown> =>
  page.evaluate(`history.pushState({}, '', ${JSON.stringify(href)}); dispatchEvent(new PopStateEvent('popstate'))`);

/** Opens the dialog of a new survey, and chooses what it is made of. */
export async function openNewSurvey(page: Page, origin: string): Promise<Locator> {
  await page.getByRole('button', { name: 'New survey' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New survey' });
  await dialog.getByText(origin, { exact: true }).click();
  return dialog;
}

/** A survey of two questions about reasons, whose first was answered so often; gives its id once all are counted. */
export async function surveyWithReasons(admin: Client, title: string, count: number): Promise<string> {
  const { id, questions } = await publishedSurvey(admin, { title }, [
    { type: 'LONG_TEXT', text: 'Why?' },
    { type: 'LONG_TEXT', text: 'Why not?' },
  ]);
  const answers = [{ questionId: questions[0]?.id, textValue: `Because of ${title}` }];
  for (let n = 0; n < count; n += 1) assert.equal((await admin.submit(id, { answers })).status, 201);
  await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, count));
  return id;
}

/**
 * Lets the messages of the page stay: after six to twenty seconds they close, and with them the way to undo what they
 * tell of. A loaded machine may need longer to get there.
 */
export async function keepMessages(page: Page): Promise<void> {
  await page.evaluate(`{
    const later = setTimeout;
    const ofMessages = [6000, 12_000, 20_000];
    globalThis.setTimeout = (run, ms, ...rest) => later(run, ofMessages.includes(ms) ? 2 ** 30 : ms, ...rest);
  }`);
}

/** What the keys of a view do, as the list of keys says. */
export async function keyTitles(page: Page): Promise<string[]> {
  await page.keyboard.press('?');
  const list = page.getByRole('dialog', { name: 'Keys' });
  await list.getByText('List the keys').waitFor();
  const titles = await list.locator('dd').allTextContents();
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
  return titles;
}

/** Adds a filter on a screen with a filter bar: `search` is typed, then the variable and its value are picked. */
export async function addFilter(
  page: Page,
  { search, variable, value }: { search: string; variable: RegExp | string; value: string },
): Promise<void> {
  await page.getByRole('button', { name: 'Add filter' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add filter' });
  await dialog.getByRole('combobox', { name: 'Question' }).fill(search);
  await page.getByRole('option', { name: variable }).click();
  await dialog.getByRole('button', { name: /Answer/ }).click();
  await page.getByRole('option', { name: value }).click();
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
}

/** Asserts that axe-core finds nothing on the page as it is: in light, in dark, and from right to left. */
export async function assertAccessible(page: Page): Promise<void> {
  // A tooltip below the pointer is outside of all landmarks.
  await page.mouse.move(0, 0);
  await page.getByRole('tooltip').first().waitFor({ state: 'detached' });
  for (const look of ['light', 'dark', 'rtl'] as const) {
    await page.emulateMedia({ colorScheme: look === 'dark' ? 'dark' : 'light', reducedMotion: 'reduce' });
    await page.evaluate(`document.documentElement.dir = '${look === 'rtl' ? 'rtl' : 'ltr'}'`);
    assert.deepEqual(await axeFindings(page), [], `axe-core in ${look}`);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  await page.evaluate(`document.documentElement.removeAttribute('dir')`);
}
