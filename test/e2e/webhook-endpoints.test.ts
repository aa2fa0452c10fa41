import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newId } from '../../src/platform/ids.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { signInNewUser } from '../support/new-user.ts';
import type { RunningService } from '../support/service.ts';
import { useWebhookService } from '../support/use-webhook-service.ts';

describe('webhook endpoints', () => {
  let service: RunningService;
  let admin: Client;
  const { receiverOf, failingOnce, openSurvey } = useWebhookService((served) => ({ service, admin } = served));

  it('refuse unknown fields and invalid addresses', async () => {
    const good = { url: 'http://127.0.0.1:1/hook', events: ['survey.published'] };
    const bad = [
      { ...good, url: 'ftp://example.com' },
      { ...good, url: 'nonsense' },
      { ...good, url: 'http://me:secret@example.com/' },
      { ...good, url: 'http://example.com/\r\nX: y' },
      { ...good, events: [] },
      { ...good, events: ['response.deleted'] },
      { ...good, secret: 'whsec_mine' },
      { ...good, ownerId: good.url },
      { url: good.url },
      { ...good, maxPerSecond: 0 },
    ];
    for (const body of bad)
      assert.equal(
        (await admin.call('POST', '/webhooks', { body })).body.code,
        'VALIDATION_ERROR',
        JSON.stringify(body),
      );
  });

  it('are visible only to their owner and an ADMIN, and report only what the owner may see', async () => {
    const [ann, ben, vera] = [
      await signInNewUser(service, admin),
      await signInNewUser(service, admin),
      await signInNewUser(service, admin, 'VIEWER'),
    ];
    const receiver = await receiverOf();
    const body = { url: receiver.url, events: ['response.completed'] };
    const hook = await ann.create('/webhooks', body);
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
      ['GET', '/deliveries'],
    ] as const) {
      const options = method === 'PUT' ? { body: { isActive: false } } : {};
      assert.equal((await ben.call(method, `/webhooks/${hook.id}${path}`, options)).status, 404, `${method} ${path}`);
      assert.equal((await vera.call(method, `/webhooks/${hook.id}${path}`, options)).status, 403, `${method} ${path}`);
    }
    assert.deepEqual(await ben.get('/webhooks'), []);
    assert.equal((await ann.get('/webhooks')).length, 1);
    assert.equal((await admin.get(`/webhooks/${hook.id}`)).id, hook.id);
    const foreign = await openSurvey({ status: 'ACTIVE' });
    for (const surveyId of [foreign.id, newId(), 'zz', '']) {
      assert.equal((await ann.call('POST', '/webhooks', { body: { ...body, surveyId } })).status, 404, surveyId);
    }
    const own = await ann.create('/surveys', { title: 'Own', status: 'ACTIVE' });
    const question = await ann.create(`/surveys/${own.id}/questions`, { type: 'NUMBER', text: 'n' });
    await foreign.submit();
    const response = await admin.submit(own.id, { answers: [{ questionId: question.id, numberValue: 1 }] });
    await eventually(() => assert.ok(receiver.received.length > 0));
    await foreign.submit();
    await eventually(async () => assert.equal((await admin.get(`/surveys/${foreign.id}`)).responseCount, 2));
    assert.deepEqual(
      receiver.verified(hook.secret).map(({ content: { data } }) => [data.surveyId, data.responseId, data.outcome]),
      [[own.id, response.body.data.responseId, 'COMPLETED']],
    );
  });

  it('are bounded for each user and survey, also under concurrency, but not for an ADMIN', async () => {
    const editor = await signInNewUser(service, admin);
    const survey = await editor.create('/surveys', { title: 'Of many webhooks' });
    const body = { url: 'http://127.0.0.1:9/', events: ['survey.published'] };
    const createAll = async (client: Client, count: number, fields: object) => {
      const replies = await Promise.all(
        Array.from({ length: count }, () => client.call('POST', '/webhooks', { body: { ...body, ...fields } })),
      );
      const refused = replies.filter(({ status }) => status !== 201);
      for (const { status, body: said } of refused)
        assert.deepEqual([status, said.code, said.details?.reason], [409, 'CONFLICT', 'TOO_MANY_WEBHOOKS']);
      return replies.flatMap(({ status, body: said }) => (status === 201 ? [said.data.id as string] : []));
    };
    const ofSurvey = await createAll(editor, 30, { surveyId: survey.id });
    assert.equal(ofSurvey.length, 20);
    assert.equal((await createAll(admin, 1, { surveyId: survey.id })).length, 1);
    // A few at a time: each waits for the others, and whoever waits too long is refused for another reason.
    const others: string[] = [];
    for (const count of [30, 30, 30]) others.push(...(await createAll(editor, count, {})));
    assert.equal(others.length, 80);
    const moved = await editor.call('PUT', `/webhooks/${others[0]}`, { body: { surveyId: survey.id } });
    assert.deepEqual([moved.status, moved.body.details?.reason], [409, 'TOO_MANY_WEBHOOKS']);
    assert.match(moved.body.message, /^The survey has 20/);
    const free = await editor.create('/surveys', { title: 'Of no webhooks' });
    await editor.put(`/webhooks/${others[0]}`, { surveyId: free.id });
    await editor.remove(`/webhooks/${ofSurvey[0]}`);
    assert.equal((await createAll(editor, 2, {})).length, 1);
  });

  it('allow a bounded number of rotations a day, after which all the secrets sign', async () => {
    const receiver = await receiverOf();
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    const given: string[] = [hook.secret];
    for (let n = 0; n < 9; n += 1) given.push((await admin.post(`/webhooks/${hook.id}/rotate-secret`)).secret);
    const refused = await admin.call('POST', `/webhooks/${hook.id}/rotate-secret`);
    assert.deepEqual([refused.status, refused.body.code], [429, 'RATE_LIMITED']);
    const wait = Number(refused.headers.get('retry-after'));
    assert.ok(wait > 86_300 && wait <= 86_400, String(wait));
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 1));
    for (const secret of given) assert.equal(receiver.verified(secret).length, 1);
  });

  it('sign with both secrets after a rotation, and with all of them after several', async () => {
    const receiver = await receiverOf();
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    const rotated = await admin.post(`/webhooks/${hook.id}/rotate-secret`);
    assert.notEqual(rotated.secret, hook.secret);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 1));
    for (const secret of [hook.secret, rotated.secret]) assert.equal(receiver.verified(secret).length, 1);
    const again = await admin.post(`/webhooks/${hook.id}/rotate-secret`);
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 2));
    for (const secret of [hook.secret, rotated.secret, again.secret])
      new Webhook(secret).verify(receiver.received[1]?.body ?? '', receiver.received[1]?.headers ?? {});
    const other = new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`);
    assert.throws(() => other.verify(receiver.received[0]?.body ?? '', receiver.received[0]?.headers ?? {}));
    assert.equal('secret' in (await admin.get(`/webhooks/${hook.id}`)), false);
  });

  it('sign and address at once as they were changed, while a delivery from before is still under way', async () => {
    const { receiver, failFirst } = await failingOnce();
    const other = await receiverOf();
    const hook = await admin.create('/webhooks', { url: receiver.url, events: ['survey.published'] });
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    await eventually(() => assert.equal(receiver.received.length, 1));
    const { secret } = await admin.post(`/webhooks/${hook.id}/rotate-secret`);
    await admin.put(`/webhooks/${hook.id}`, { url: other.url });
    await admin.expect(202, 'POST', `/webhooks/${hook.id}/test`);
    // Time for the run that sent the first one to read what is due.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    failFirst();
    await eventually(() => assert.equal(other.verified(secret).length, 2));
    assert.equal(receiver.received.length, 1);
  });

  it('pass to the new owner of a deleted user’s surveys, and are disabled where they would report other surveys', async () => {
    const person = await signInNewUser(service, admin);
    const receiver = await receiverOf();
    const own = await person.create('/surveys', { title: 'Handed over', status: 'ACTIVE' });
    const question = await person.create(`/surveys/${own.id}/questions`, { type: 'NUMBER', text: 'n' });
    const shared = await openSurvey({ status: 'ACTIVE' });
    await admin.put(`/surveys/${shared.id}/members/${person.id}`, { role: 'EDITOR' });
    const body = { url: receiver.url, events: ['response.completed'] };
    const hooks = await Promise.all(
      [{ surveyId: own.id }, { surveyId: shared.id }, {}].map((fields) =>
        person.create('/webhooks', { ...body, ...fields }),
      ),
    );
    await admin.remove(`/users/${person.id}`);
    const [ofOwn, ofShared, ofAll] = await Promise.all(hooks.map((hook) => admin.get(`/webhooks/${hook.id}`)));
    assert.deepEqual([ofOwn.isActive, ofShared.isActive, ofAll.isActive], [true, false, false]);
    const { id: adminId } = await admin.get('/auth/me');
    assert.ok([ofOwn, ofShared, ofAll].every((hook) => hook.ownerId === adminId));
    assert.match(ofAll.disabledReason, /owner was deleted/);
    await shared.submit();
    await admin.submit(own.id, { answers: [{ questionId: question.id, numberValue: 1 }] });
    await eventually(() => assert.equal(receiver.received.length, 1));
    await eventually(async () => assert.equal((await admin.get(`/surveys/${shared.id}`)).responseCount, 1));
    assert.deepEqual(
      receiver.verified(hooks[0].secret).map(({ content }) => content.data.surveyId),
      [own.id],
    );
  });
});
