import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { signInNewUser } from '../support/new-user.ts';
import { adminEmail, type RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

let admin: Client;
let service: RunningService;
useService((served) => {
  ({ admin, service } = served);
});

/** The calls that made each version, the oldest first. */
const makersOf = async (id: string): Promise<[number, string[]][]> =>
  (await admin.get(`/surveys/${id}/versions?limit=100`))
    .map(({ version, changes }: any) => [
      version,
      changes.map(({ action, actorEmail }: any) => `${action} ${actorEmail}`),
    ])
    .reverse();

async function twoQuestions() {
  const survey = await admin.create('/surveys', { title: 'Lunch' });
  const add = (text: string) => admin.create(`/surveys/${survey.id}/questions`, { type: 'YES_NO', text });
  const [soup, pasta] = [await add('Soup?'), await add('Pasta?')];
  const { version } = await admin.get(`/surveys/${survey.id}`);
  return { id: String(survey.id), soup, pasta, version: Number(version) };
}

const outcomeOf = async (method: string, path: string, body?: unknown) => {
  const reply = await admin.call(method, path, body === undefined ? {} : { body });
  return [reply.status, reply.body.details?.reason ?? reply.body.details?.[0]?.path];
};

describe('versions of a survey', () => {
  it('are listed with who changed what, newest first', async () => {
    const { id, soup } = await twoQuestions();
    const section = await admin.create(`/surveys/${id}/sections`, { title: 'Meals' });
    await admin.put(`/surveys/questions/${soup.id}`, { text: 'Soup of the day?' });
    await admin.put(`/surveys/${id}`, { title: 'Dinner' });
    const reply = await admin.call('GET', `/surveys/${id}/versions?limit=3`);
    assert.equal(reply.body.pagination.total, 6);
    assert.deepEqual(
      reply.body.data.map(({ version, changes }: any) => [
        version,
        changes.map(({ action, objectId, actorEmail, fields }: any) => [action, objectId, actorEmail, fields]),
      ]),
      [
        [6, [['survey.changed', id, adminEmail, ['title']]]],
        [5, [['question.changed', soup.id, adminEmail, ['text']]]],
        [4, [['section.created', section.id, adminEmail, []]]],
      ],
    );
  });

  it('name the calls that made them, also the first of each survey, and no others', async () => {
    const { id, soup, pasta } = await twoQuestions();
    const section = await admin.create(`/surveys/${id}/sections`, { title: 'Meals' });
    const other = await signInNewUser(service, admin);
    await admin.put(`/surveys/${id}/members/${other.id}`, { role: 'EDITOR' });
    await other.put(`/surveys/${id}`, { title: 'Lunch', retentionDays: 30 });
    await other.put(`/surveys/${id}`, { status: 'ACTIVE' });
    await other.put(`/surveys/questions/${soup.id}`, { text: 'Soup?' });
    await other.put(`/surveys/${id}/sections/${section.id}`, { title: 'Meals' });
    await other.post(`/surveys/${id}/questions/reorder`, { questionIds: [soup.id, pasta.id] });
    await other.post(`/surveys/${id}/sections/reorder`, { sectionIds: [section.id] });
    const copy = await other.create(`/surveys/${id}/duplicate`);
    const imported = await other.create('/surveys/import', { title: 'Lunch' });
    assert.deepEqual(await makersOf(id), [
      [1, [`survey.created ${adminEmail}`]],
      [2, [`question.created ${adminEmail}`]],
      [3, [`question.created ${adminEmail}`]],
      [4, [`section.created ${adminEmail}`]],
    ]);
    const { email } = await other.get('/auth/me');
    assert.deepEqual(await makersOf(copy.id), [[1, [`survey.duplicated ${email}`]]]);
    assert.deepEqual(await makersOf(imported.id), [[1, [`survey.created ${email}`]]]);
  });

  it('are read as they were', async () => {
    const { id, soup, pasta, version } = await twoQuestions();
    await admin.put(`/surveys/questions/${soup.id}`, { text: 'Soup of the day?' });
    await admin.remove(`/surveys/${id}/questions/${pasta.id}`);
    const texts = async (number: number) =>
      (await admin.get(`/surveys/${id}/versions/${number}`)).questions.map(({ text }: any) => text);
    assert.deepEqual(await texts(version), ['Soup?', 'Pasta?']);
    assert.deepEqual(await texts(version + 2), ['Soup of the day?']);
    const former = await admin.get(`/surveys/${id}/versions/${version}`);
    assert.equal(former.replacedAt, (await admin.get(`/surveys/${id}/versions/${version + 1}`)).createdAt);
    assert.equal((await admin.get(`/surveys/${id}/versions/${version + 2}`)).replacedAt, null);
  });

  it('keep the language that the survey had in each of them', async () => {
    const survey = await admin.create('/surveys', { title: 'Mittag' });
    const add = (body: object) => admin.create(`/surveys/${survey.id}/questions`, body);
    const soup = await add({ type: 'YES_NO', text: 'Suppe?' });
    const why = await add({ type: 'SHORT_TEXT', text: 'Warum?', visibleIf: { language: ['de'] } });
    const { version } = await admin.put(`/surveys/${survey.id}`, { language: 'de', status: 'ACTIVE' });
    await admin.put(`/surveys/questions/${soup.id}`, { text: 'Wieder Suppe?' });
    const languageOf = async (number: number) => (await admin.get(`/surveys/${survey.id}/versions/${number}`)).language;
    assert.deepEqual(
      [await languageOf(version - 1), await languageOf(version), await languageOf(version + 1)],
      ['en', 'de', 'de'],
    );
    const answers = [{ questionId: why.id, textValue: 'Sie schmeckt' }];
    const { body } = await admin.submit(survey.id, { surveyVersion: version, answers });
    assert.deepEqual(body.data.ignored ?? [], []);
    const response = await eventually(() => admin.get(`/responses/${body.data.responseId}`));
    assert.deepEqual([response.language, response.answers[0]?.textValue], ['de', 'Sie schmeckt']);
  });

  it('that never were are not found', async () => {
    const { id, version } = await twoQuestions();
    for (const name of [version + 1, 0, -1, '1.5', '01', 'x', '99999999999'])
      assert.equal((await admin.call('GET', `/surveys/${id}/versions/${name}`)).status, 404, String(name));
  });
});

describe('an edit of what somebody else has changed since', () => {
  it('is refused for a question, a section and the texts of the survey, and changes nothing', async () => {
    const { id, soup, version } = await twoQuestions();
    const section = await admin.create(`/surveys/${id}/sections`, { title: 'Meals' });
    const seen = version + 1;
    await admin.put(`/surveys/questions/${soup.id}`, { text: 'Theirs' });
    await admin.put(`/surveys/${id}/sections/${section.id}`, { title: 'Theirs' });
    await admin.put(`/surveys/${id}`, { title: 'Theirs' });
    const conflict = [409, 'CHANGED_MEANWHILE'];
    const since = `ifUnchangedSince=${seen}`;
    assert.deepEqual(await outcomeOf('PUT', `/surveys/questions/${soup.id}?${since}`, { text: 'Mine' }), conflict);
    assert.deepEqual(await outcomeOf('DELETE', `/surveys/${id}/questions/${soup.id}?${since}`), conflict);
    assert.deepEqual(
      await outcomeOf('PUT', `/surveys/${id}/sections/${section.id}?${since}`, { title: 'M' }),
      conflict,
    );
    assert.deepEqual(await outcomeOf('PUT', `/surveys/${id}?${since}`, { title: 'Mine' }), conflict);
    const survey = await admin.get(`/surveys/${id}`);
    assert.deepEqual(
      [survey.title, survey.sections[0].title, survey.questions[0].text, survey.version],
      ['Theirs', 'Theirs', 'Theirs', seen + 3],
    );
  });

  it('is refused for the language too, but taken where the language has changed back', async () => {
    const { id, version } = await twoQuestions();
    const setLanguage = (since: number) =>
      outcomeOf('PUT', `/surveys/${id}?ifUnchangedSince=${since}`, { language: 'it' });
    await admin.put(`/surveys/${id}`, { language: 'de' });
    assert.deepEqual(await setLanguage(version), [409, 'CHANGED_MEANWHILE']);
    await admin.put(`/surveys/${id}`, { language: 'en' });
    assert.deepEqual(await setLanguage(version), [200, undefined]);
  });

  it('is taken where only other things have changed, also the place of the question', async () => {
    const { id, soup, pasta, version } = await twoQuestions();
    await admin.put(`/surveys/questions/${soup.id}`, { text: 'Theirs' });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'First', order: 0 });
    await admin.put(`/surveys/${id}`, { description: 'Theirs' });
    const since = `ifUnchangedSince=${version}`;
    assert.deepEqual(await outcomeOf('PUT', `/surveys/questions/${pasta.id}?${since}`, { text: 'Mine' }), [
      200,
      undefined,
    ]);
    assert.deepEqual(await outcomeOf('PUT', `/surveys/${id}?${since}`, { title: 'Mine' }), [200, undefined]);
  });

  it('is not asked of fields that no version holds', async () => {
    const { id, version } = await twoQuestions();
    const change = (body: object) => outcomeOf('PUT', `/surveys/${id}?ifUnchangedSince=${version}`, body);
    const closingText = { closingText: 'Thank you' };
    assert.deepEqual(await change({ title: 'Mine', appearance: closingText }), [400, 'ifUnchangedSince']);
    assert.deepEqual(await change({ status: 'ACTIVE' }), [400, 'ifUnchangedSince']);
    assert.deepEqual(await change({ title: 'Mine', isShuffled: true }), [200, undefined]);
  });

  it('names a version that exists', async () => {
    const { soup, version } = await twoQuestions();
    const edit = (since: unknown) =>
      outcomeOf('PUT', `/surveys/questions/${soup.id}?ifUnchangedSince=${since}`, { text: 'Mine' });
    for (const since of [version + 1, 0, 'x'])
      assert.deepEqual(await edit(since), [400, 'ifUnchangedSince'], String(since));
    assert.deepEqual(await edit(version), [200, undefined]);
  });
});
