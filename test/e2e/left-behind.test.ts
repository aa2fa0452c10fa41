import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { finishedExport } from '../support/exports.ts';
import { signInNewUser } from '../support/new-user.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

let service: RunningService;
let admin: Client;
useService(
  (served) => {
    ({ service, admin } = served);
  },
  { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
);

const person = async (role: 'ADMIN' | 'EDITOR' | 'VIEWER') => {
  const client = await signInNewUser(service, admin, role);
  return { id: client.id, client };
};
const exportIdsOf = async (client: Client, query = ''): Promise<string[]> =>
  (await client.get(`/exports${query}`)).map(({ exportId }: { exportId: string }) => exportId);
const askFor = async (client: Client, surveyId: string): Promise<string> =>
  (await client.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format: 'CSV' })).exportId;

describe('export files of a deleted user', () => {
  it('stay with their surveys and belong to the new owners', async () => {
    const survey = await admin.create('/surveys', { title: 'Of an ADMIN' });
    const [owner, editor] = [await person('EDITOR'), await person('EDITOR')];
    const theirs = await owner.client.create('/surveys', { title: 'Of an EDITOR' });
    const own = await editor.client.create('/surveys', { title: 'Of who goes' });
    await admin.put(`/surveys/${survey.id}/members/${editor.id}`, { role: 'EDITOR' });
    await owner.client.put(`/surveys/${theirs.id}/members/${editor.id}`, { role: 'VIEWER' });
    const files = [
      await askFor(editor.client, survey.id),
      await askFor(editor.client, theirs.id),
      await askFor(editor.client, own.id),
    ] as const;
    for (const id of files) assert.equal((await finishedExport(editor.client, id)).status, 'COMPLETED');
    await admin.remove(`/users/${editor.id}`);
    for (const id of files) assert.equal((await admin.call('GET', `/exports/${id}/download`)).status, 200);
    assert.deepEqual(await exportIdsOf(owner.client), [files[1]]);
    const ofAdmin = await exportIdsOf(admin);
    assert.deepEqual(
      files.filter((id) => ofAdmin.includes(id)),
      [files[0], files[2]],
      'among what other tests have left to the ADMIN',
    );
  });

  it('can be listed by survey and status', async () => {
    const { client } = await person('EDITOR');
    const [one, two] = [
      await client.create('/surveys', { title: 'One' }),
      await client.create('/surveys', { title: 'Two' }),
    ];
    const [first, second] = [await askFor(client, one.id), await askFor(client, two.id)];
    for (const id of [first, second]) assert.equal((await finishedExport(client, id)).status, 'COMPLETED');
    assert.deepEqual(
      [
        await exportIdsOf(client, `?surveyId=${one.id}`),
        await exportIdsOf(client, '?status=FAILED'),
        await exportIdsOf(client, `?status=COMPLETED&surveyId=${two.id}`),
      ],
      [[first], [], [second]],
    );
    assert.equal((await client.call('GET', '/exports?status=GONE')).status, 400);
  });
});

describe('a suspended webhook endpoint', () => {
  it('shows why nothing is sent while its owner lacks the right, and continues after that', async () => {
    const survey = await admin.create('/surveys', { title: 'Shared' });
    const { id, client } = await person('EDITOR');
    await admin.put(`/surveys/${survey.id}/members/${id}`, { role: 'EDITOR' });
    const bound = await client.create('/webhooks', {
      url: 'http://127.0.0.1:1/',
      events: ['quota.reached'],
      surveyId: survey.id,
    });
    const free = await client.create('/webhooks', { url: 'http://127.0.0.1:1/', events: ['quota.reached'] });
    const stateOf = async (hook: { id: string }) => {
      const { isActive, disabledReason, disabledAt } = await admin.get(`/webhooks/${hook.id}`);
      return [isActive, /disabled or a VIEWER|not see/.exec(disabledReason ?? '')?.[0] ?? null, disabledAt];
    };
    assert.deepEqual(
      [await stateOf(bound), await stateOf(free)],
      [
        [true, null, null],
        [true, null, null],
      ],
    );
    for (const change of [{ role: 'VIEWER' }, { role: 'EDITOR', isDisabled: true }]) {
      await admin.put(`/users/${id}`, change);
      assert.deepEqual(
        [await stateOf(bound), await stateOf(free)],
        [
          [true, 'disabled or a VIEWER', null],
          [true, 'disabled or a VIEWER', null],
        ],
      );
      const tested = await admin.call('POST', `/webhooks/${free.id}/test`);
      assert.deepEqual([tested.status, tested.body.details], [409, { reason: 'WEBHOOK_NOT_ACTIVE' }]);
    }
    await admin.put(`/users/${id}`, { isDisabled: false });
    await admin.remove(`/surveys/${survey.id}/members/${id}`);
    assert.deepEqual(
      [await stateOf(bound), await stateOf(free)],
      [
        [true, 'not see', null],
        [true, null, null],
      ],
    );
    const listed = (await admin.get('/webhooks')).find((hook: { id: string }) => hook.id === bound.id);
    assert.match(listed.disabledReason, /not see/);
    await admin.put(`/surveys/${survey.id}/members/${id}`, { role: 'VIEWER' });
    assert.deepEqual(
      [await stateOf(bound), await stateOf(free)],
      [
        [true, null, null],
        [true, null, null],
      ],
    );
  });
});

describe('a survey', () => {
  it('gets no new version when nothing changes', async () => {
    const survey = await admin.create('/surveys', { title: 'Lunch' });
    const body = { type: 'MULTIPLE_CHOICE', text: 'Which?', options: [{ text: 'Soup' }, { text: 'Pasta' }] };
    const question = await admin.create(`/surveys/${survey.id}/questions`, body);
    const versionOf = async (): Promise<number> => (await admin.get(`/surveys/${survey.id}`)).version;
    const before = await versionOf();
    for (const same of [{ text: 'Which?' }, { options: question.options }, { isRequired: false, order: 0 }])
      assert.deepEqual(await admin.put(`/surveys/questions/${question.id}`, same), question);
    await admin.post(`/surveys/${survey.id}/questions/reorder`, { questionIds: [question.id] });
    assert.equal(await versionOf(), before);
    await admin.put(`/surveys/questions/${question.id}`, { text: 'Which one?' });
    assert.equal(await versionOf(), before + 1);
  });

  it('cannot change its language to that of a translation', async () => {
    const survey = await admin.create('/surveys', { title: 'Lunch' });
    await admin.put(`/surveys/${survey.id}/translations/de`, { title: 'Mittagessen' });
    const refused = await admin.call('PUT', `/surveys/${survey.id}`, { body: { language: 'DE', title: 'changed' } });
    assert.deepEqual([refused.status, refused.body.details?.[0]?.path], [400, 'language']);
    assert.deepEqual(
      [
        (await admin.put(`/surveys/${survey.id}`, { language: 'en' })).title,
        (await admin.put(`/surveys/${survey.id}`, { language: 'fr' })).language,
      ],
      ['Lunch', 'fr'],
    );
    await admin.remove(`/surveys/${survey.id}/translations/de`);
    assert.equal((await admin.put(`/surveys/${survey.id}`, { language: 'de' })).language, 'de');
  });
});
