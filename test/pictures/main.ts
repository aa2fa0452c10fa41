import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startAiProvider } from '../support/ai-provider.ts';
import { launchChromium, missingChromium } from '../support/chromium.ts';
import { adminClient } from '../support/client.ts';
import { fillSignIn } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { pictureReply } from './ai-replies.ts';
import { type Demonstration, demonstration } from './demonstration.ts';

/**
 * `npm run pictures`: remakes docs/pictures, a picture a screen of the console and of the respondent's page, from a
 * service of its own with made-up responses. `npm run pictures -- WORD…` remakes those whose names have one of the words.
 */
const missing = missingChromium();
if (missing !== undefined) throw new Error(missing);
const folder = join(process.cwd(), 'docs', 'pictures');
const desktop: BrowserContextOptions = { viewport: { width: 1280, height: 800 }, colorScheme: 'light' };
const phone: BrowserContextOptions = { viewport: { width: 360, height: 740 }, colorScheme: 'light' };

interface Picture {
  name: string;
  /** Within the console, or of the respondent's page. */
  path: string;
  options?: BrowserContextOptions;
  isPublic?: boolean;
}

const stores = await sharedStores();
const ai = await startAiProvider();
ai.answer = pictureReply;
const service = await startService({ env: { ...ai.env, WEBHOOK_ALLOW_PRIVATE: 'true' } });
const words = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), 'pictures-'));
const browser = await launchChromium(profile);
try {
  const admin = await adminClient(service);
  const shown = await demonstration(admin);
  mkdirSync(folder, { recursive: true });
  const wanted = picturesOf(shown).filter(
    ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
  );
  for (const picture of wanted) await take(browser, service, picture);
} finally {
  await browser.close();
  await service.stop();
  await ai.close();
  await stores.stop();
  rmSync(profile, { recursive: true, force: true });
}

function picturesOf({ surveyId, dishId, againId, webhookId, conversationId }: Demonstration): Picture[] {
  const link = `/s/${surveyId}`;
  const tabs = [
    'build',
    'publish',
    'quotas',
    'results',
    'crosstab',
    'texts',
    'responses',
    'exports',
    'reports',
    'languages',
    'settings',
  ];
  const search: Record<string, string> = {
    crosstab: `?rows=${dishId}&columns=${encodeURIComponent(JSON.stringify([againId]))}`,
  };
  const places = ['surveys', 'webhooks', 'people', 'keys', 'audit', 'ai', 'service', 'account'];
  return [
    { name: 'sign-in', path: '/sign-in', isPublic: true },
    ...places.map((place) => ({ name: place, path: `/${place}` })),
    { name: 'webhook', path: `/webhooks/${webhookId}` },
    ...tabs.map((tab) => ({ name: `survey-${tab}`, path: `/surveys/${surveyId}/${tab}${search[tab] ?? ''}` })),
    { name: 'new-survey-ai', path: '/surveys/new' },
    { name: 'new-survey-draft', path: `/surveys/new?conversation=${conversationId}` },
    { name: 'new-survey-draft-phone', path: `/surveys/new?conversation=${conversationId}`, options: phone },
    { name: 'survey-build-wording', path: `/surveys/${surveyId}/build?item=${dishId}&pane=wording` },
    { name: 'survey-results-dark', path: `/surveys/${surveyId}/results`, options: { ...desktop, colorScheme: 'dark' } },
    { name: 'survey-results-phone', path: `/surveys/${surveyId}/results`, options: phone },
    { name: 'page', path: link, isPublic: true },
    { name: 'page-phone', path: link, isPublic: true, options: phone },
    { name: 'page-phone-dark', path: link, isPublic: true, options: { ...phone, colorScheme: 'dark' } },
    { name: 'page-phone-arabic', path: `${link}?lang=ar`, isPublic: true, options: phone },
  ];
}

async function take(from: Browser, { origin }: RunningService, { name, path, options = desktop, isPublic }: Picture) {
  const context = await from.newContext({ ...options, reducedMotion: 'reduce' });
  try {
    const page = await context.newPage();
    if (isPublic) await page.goto(origin + path);
    else {
      await page.goto(`${origin}/sign-in?next=${encodeURIComponent(path)}`);
      await fillSignIn(page);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor({ state: 'detached' });
    }
    await isQuiet(page);
    await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled', caret: 'hide' });
    console.log(`docs/pictures/${name}.png`);
  } finally {
    await context.close();
  }
}

/** Waits until nothing is loading. Some views are never without a request, so it does not wait for the network. */
async function isQuiet(page: Page): Promise<void> {
  await eventually(async () => {
    if ((await page.locator('[role=status] > .visually-hidden, [aria-busy=true]').count()) > 0)
      throw new Error('a view is loading');
  });
  await page.evaluate('document.fonts.ready');
}
