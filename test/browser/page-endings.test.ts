import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { axeFindings } from '../support/axe-findings.ts';
import { type BrowserFixture, useBrowser, withoutBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { makeInvitations } from '../support/invitations.ts';
import {
  driversOnly,
  fillAndSend,
  holdUploads,
  keptOn,
  openSurvey,
  publishedSurvey,
  questionAt,
  storedResponses,
  thanked,
} from '../support/page-fixture.ts';
import { png } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

const soon = (ms: number): string => new Date(Date.now() + ms).toISOString();
const heading = (page: Page) => page.getByRole('heading', { level: 1 });

describe('the end of a response on the respondent’s page', { skip: withoutBrowser }, () => {
  let service: RunningService;
  let admin: Client;
  let browser: BrowserFixture;
  useBrowser((opened) => (browser = opened));
  useService((served) => ({ service, admin } = served));
  const open = (link: string): Promise<Page> => openSurvey(browser, service, { link });
  const nameQuestion = { type: 'SHORT_TEXT', text: 'Your name?' };

  it('is one for those who are screened out, and stores the outcome', async () => {
    const survey = await driversOnly(admin);
    const page = await open(survey.id);
    await questionAt(page, 'Which car?').waitFor();
    await page.getByRole('radio', { name: 'No' }).check();
    await questionAt(page, 'Which car?').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('[data-notice="screenedOut"]').waitFor();
    assert.equal(await heading(page).textContent(), 'Thank you for your interest');
    assert.deepEqual(await axeFindings(page), []);
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.outcome, 'SCREENED_OUT');
    await page.context().close();
  });

  it('is another for those of whom there are enough', async () => {
    const survey = await admin.create('/surveys', { title: 'One of each' });
    const region = await admin.create(`/surveys/${survey.id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Region',
      options: [{ text: 'North' }, { text: 'South' }],
    });
    await admin.create(`/surveys/${survey.id}/quotas/grid`, { questionIds: [region.id], limit: 1 });
    await admin.post(`/surveys/${survey.id}/publish`);
    await eventually(async () => {
      const quotas: { isCounting: boolean }[] = await admin.get(`/surveys/${survey.id}/quotas`);
      assert.ok(quotas.length === 2 && quotas.every(({ isCounting }) => !isCounting));
    });
    for (const notice of ['thanks', 'overQuota']) {
      const page = await open(survey.id);
      await page.getByRole('radio', { name: 'North' }).check();
      await page.getByRole('button', { name: 'Send' }).click();
      await page.locator(`[data-notice="${notice}"]`).waitFor();
      await page.context().close();
    }
    const stored = await storedResponses(admin, survey.id, 2);
    assert.deepEqual(stored.map(({ outcome }) => outcome).sort(), ['COMPLETED', 'OVER_QUOTA']);
  });

  it('says so when the survey was paused meanwhile, and goes on where it was when it is open again', async () => {
    const survey = await publishedSurvey(admin, { title: 'Paused', visibility: 'PRIVATE' }, [nameQuestion]);
    const { accessToken } = await admin.get(`/surveys/${survey.id}`);
    const page = await open(`${survey.id}?surveyToken=${accessToken}`);
    await page.getByLabel('Your name?').fill('Ada');
    await page.locator('.status[data-status=saved]').waitFor();
    await admin.put(`/surveys/${survey.id}`, { status: 'PAUSED' });
    await page.getByRole('button', { name: 'Send' }).click();
    const paused = page.locator('[data-notice="paused"]');
    await paused.getByText('Nothing that you entered is lost.').waitFor();
    await page.locator('h1:focus').waitFor();
    assert.deepEqual(await axeFindings(page), []);
    // Still paused: now the service shows the notice, which leads on as well.
    const again = paused.getByRole('button', { name: 'Try again' });
    await Promise.all([page.waitForResponse((response) => response.url().includes('surveyToken=')), again.click()]);
    await admin.put(`/surveys/${survey.id}`, { status: 'ACTIVE' });
    await eventually(async () => {
      // The page may come between the two: then there is no such button any more.
      if (await again.count()) await again.click({ timeout: 2000 });
      assert.equal(await page.getByLabel('Your name?').inputValue({ timeout: 2000 }), 'Ada');
    });
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('[data-notice="thanks"]').waitFor();
    const [stored] = await storedResponses(admin, survey.id, 1);
    assert.equal(stored?.answers[0]?.['textValue'], 'Ada');
    browser.forgive(/status of 4\d\d/);
    await page.context().close();
  });

  it('leaves a file that was being uploaded when the survey was paused, and asks before it is lost', async () => {
    const survey = await publishedSurvey(admin, { title: 'Paused' }, [
      nameQuestion,
      { type: 'FILE_UPLOAD', text: 'Your picture?' },
    ]);
    const page = await open(survey.id);
    const held = await holdUploads(page);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await admin.put(`/surveys/${survey.id}`, { status: 'PAUSED' });
    await page.getByLabel('Your name?').fill('Ada');
    const again = page.locator('[data-notice="paused"]').getByRole('button', { name: 'Try again' });
    await again.waitFor();
    const questions: string[] = [];
    page.once('dialog', (dialog) => {
      questions.push(dialog.type());
      return dialog.dismiss();
    });
    await again.click();
    await eventually(() => assert.deepEqual(questions, ['beforeunload']));
    await admin.put(`/surveys/${survey.id}`, { status: 'ACTIVE' });
    held.release();
    await eventually(async () => assert.match(JSON.stringify(await keptOn(page)), /me\.png/));
    await again.click();
    await page.getByRole('button', { name: 'Remove: me.png' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('[data-notice="thanks"]').waitFor();
    assert.equal((await storedResponses(admin, survey.id, 1))[0]?.answers.length, 2);
    browser.forgive(/status of 409/);
    await page.context().close();
  });

  it('of a survey that was closed meanwhile leads nowhere', async () => {
    const survey = await publishedSurvey(admin, { title: 'Closed' }, [nameQuestion]);
    const page = await open(survey.id);
    await admin.put(`/surveys/${survey.id}`, { status: 'CLOSED' });
    await fillAndSend(page, 'Your name?', 'Ada');
    await page.locator('[data-notice="closed"]').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0);
    browser.forgive(/status of 4\d\d/);
    await page.context().close();
  });

  it('comes with the end of the survey and with its last seat', async () => {
    const ended = await publishedSurvey(admin, { title: 'Ends' }, [nameQuestion]);
    // Not before: a survey that has ended cannot be published.
    await admin.put(`/surveys/${ended.id}`, { endsAt: soon(1000) });
    const full = await publishedSurvey(admin, { title: 'Full', responseQuota: 1 }, [nameQuestion]);
    const late = await open(full.id);
    await admin.submit(full.id, { answers: [{ questionId: full.questions[0]?.id, textValue: 'First' }] });
    await fillAndSend(late, 'Your name?', 'Second');
    await late.locator('[data-notice="full"]').waitFor();
    await eventually(async () => {
      await late.goto(`${service.origin}/s/${ended.id}`);
      assert.equal(await heading(late).textContent(), 'This survey has ended');
    });
    await storedResponses(admin, full.id, 1);
    browser.forgive(/status of 4\d\d/);
    await late.context().close();
  });

  it('of an invitation that was withdrawn or has expired, and of one that is none', async () => {
    const survey = await publishedSurvey(admin, { title: 'Members' }, [nameQuestion]);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
    // Again where a busy machine reads them so late that one has expired by then, which is refused.
    const [anna, bert] = await eventually(() =>
      makeInvitations(service, admin, list.id, [{ reference: 'anna' }, { reference: 'bert', expiresAt: soon(5000) }]),
    );
    const page = await open(`${list.linkId}?invitation=${anna?.token}`);
    const [listed] = await admin.get(`/collectors/${list.id}/invitations?reference=anna`);
    await admin.post(`/collectors/${list.id}/invitations/${listed.id}/revoke`);
    await fillAndSend(page, 'Your name?', 'Anna');
    await page.locator('[data-notice="revokedInvitation"]').waitFor();
    const expected = [
      [`${list.linkId}?invitation=${anna?.token}`, 'This invitation was withdrawn'],
      [`${list.linkId}?invitation=${bert?.token}`, 'This invitation has expired'],
      [`${list.linkId}?invitation=${'x'.repeat(150)}`, 'This invitation is not valid'],
    ] as const;
    for (const [link, title] of expected)
      await eventually(async () => {
        await page.goto(`${service.origin}/s/${link}`);
        assert.equal(await heading(page).textContent(), title);
      });
    browser.forgive(/status of 4\d\d/);
    await page.context().close();
  });

  it('of an invitation that was used on another device meanwhile leaves nothing in the browser', async () => {
    const survey = await publishedSurvey(admin, { title: 'Used', isAnonymous: true }, [nameQuestion]);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
    const [invited] = await makeInvitations(service, admin, list.id, [{}]);
    const page = await open(`${list.linkId}?invitation=${invited?.token}`);
    const answers = [{ questionId: survey.questions[0]?.id, textValue: 'First' }];
    await admin.submit(survey.id, { answers, invitation: invited?.token });
    await fillAndSend(page, 'Your name?', 'Second');
    await page.locator('[data-notice="usedInvitation"]').waitFor();
    await eventually(async () => assert.deepEqual(await keptOn(page), []));
    browser.forgive(/status of 409/);
    await page.context().close();
  });

  /** A page that has sent by an invitation that opens once, and gets no reply; `visitAgain` opens its link once more. */
  const sentWithoutReply = async () => {
    const appearance = { closingText: 'That is all.' };
    const survey = await publishedSurvey(admin, { title: 'Sent', isAnonymous: true, appearance }, [nameQuestion]);
    const list = await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind: 'INVITATION' });
    const [invited] = await makeInvitations(service, admin, list.id, [{}]);
    const link = `${list.linkId}?invitation=${invited?.token}`;
    const page = await open(link);
    let isSent = false;
    await page.route('**/submit', async (route) => {
      if (!isSent) await route.fetch();
      isSent = true;
      await route.abort('connectionrefused');
    });
    await fillAndSend(page, 'Your name?', 'Ada');
    await storedResponses(admin, survey.id, 1);
    await page.getByText('You may close this page').waitFor();
    const visitAgain = async (script?: string) => {
      const again = await page.context().newPage();
      if (script) await again.addInitScript(script);
      await again.goto(`${service.origin}/s/${link}`);
      await again.locator('[data-notice="usedInvitation"]').waitFor();
      return again;
    };
    const close = async () => {
      browser.forgive(/status of 409|ERR_CONNECTION_REFUSED/);
      await page.context().close();
    };
    return { survey, page, visitAgain, close };
  };

  it('whose reply was lost comes to its page when the link of its invitation is opened again', async () => {
    const { survey, page, visitAgain, close } = await sentWithoutReply();
    const again = await visitAgain();
    assert.match((await page.locator('[data-notice="thanks"]').textContent()) ?? '', /That is all\./);
    await eventually(async () => assert.deepEqual(await keptOn(again), []));
    await storedResponses(admin, survey.id, 1);
    await close();
  });

  it('whose reply was lost stays to come while the service cannot be asked for it', async () => {
    const { page, visitAgain, close } = await sentWithoutReply();
    const again = await visitAgain(`
      window.fetch = async () => {
        window.hasAsked = true;
        throw new TypeError('away');
      };`);
    await eventually(async () => assert.equal(await again.evaluate('window.hasAsked'), true));
    // What the page would have done then has been done by the time that the database gives this.
    assert.match(JSON.stringify(await keptOn(again)), /Ada/);
    assert.equal(await page.locator('[data-notice="usedInvitation"]').count(), 0);
    await page.unroute('**/submit');
    await page.evaluate("dispatchEvent(new Event('online'))");
    await thanked(page);
    await close();
  });

  it('is not taken back by a tab that finds the invitation used', async () => {
    const survey = await publishedSurvey(admin, { title: 'Sent' }, [nameQuestion]);
    const page = await open(survey.id);
    await fillAndSend(page, 'Your name?', 'Ada');
    await thanked(page);
    await page.evaluate(`
      const { form } = JSON.parse(document.getElementById('state').textContent);
      const tabs = new BroadcastChannel('survey-answers:' + form.draftKey);
      const isHeard = new Promise((resolve) => {
        new BroadcastChannel('survey-answers:' + form.draftKey).onmessage = resolve;
      });
      tabs.postMessage({ kind: 'ended', notice: 'usedInvitation' });
      isHeard.then(() => new Promise(requestAnimationFrame));`);
    assert.equal(await page.locator('.notice').getAttribute('data-notice'), 'thanks');
    await page.context().close();
  });

  it('of a link with rubbish in it is a page like the others', async () => {
    const survey = await publishedSurvey(admin, { title: 'Clean' }, [nameQuestion]);
    const page = await browser.open();
    const rubbish = [
      '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
      encodeURIComponent('<script>alert(1)</script>'),
      encodeURIComponent("' OR 1=1 --"),
      'x'.repeat(5000),
      encodeURIComponent('💣‮'),
      `${survey.id}x`,
      '%00',
      '%zz',
      '%F0%9F',
      `%00${survey.id}`,
    ];
    for (const link of rubbish) {
      const reply = await page.goto(`${service.origin}/s/${link}`);
      assert.equal(reply?.status(), 404, link.slice(0, 50));
      assert.equal(await heading(page).textContent(), 'There is no survey here', link.slice(0, 50));
    }
    const queries = [
      'lang=%22%3E%3Cscript%3E',
      `lang=${'x'.repeat(3000)}`,
      'lang=<script>',
      'metadata.=x&metadata.a=1&metadata.a=2',
      `metadata.${'k'.repeat(500)}=x`,
      'utm_source=%F0%9F%92%A3&a[b]=c&&=&%',
      'constructor=1&__proto__=2&metadata.__proto__=x',
    ];
    for (const query of queries) {
      const reply = await page.goto(`${service.origin}/s/${survey.id.toUpperCase()}?${query}`);
      assert.equal(reply?.status(), 200, query.slice(0, 50));
      await page.getByLabel('Your name?').waitFor();
    }
    await page.getByLabel('Your name?').fill('Ada');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('[data-notice="thanks"]').waitFor();
    browser.forgive(/status of 404/);
    await page.context().close();
  });
});
