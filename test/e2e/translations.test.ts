import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { translationLanguages } from '../../src/domain/translation/languages.ts';
import { publicSurveySchema, translationSchema } from '../../src/http/schemas/surveys.ts';
import { type Client, createClient } from '../support/client.ts';
import { answersOf, createFullSurvey } from '../support/every-type.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

let service: RunningService;
let admin: Client;
useService((served) => {
  ({ service, admin } = served);
});

const visit = (id: string, query = '', headers: Record<string, string> = {}) =>
  createClient(service).call('GET', `/public/surveys/${id}${query}`, { headers });
const read = async (id: string, query = '') => {
  const { status, body } = await visit(id, query);
  assert.equal(status, 200, JSON.stringify(body));
  return publicSurveySchema.parse(body.data);
};

describe('a manual translation', () => {
  const make = async () => {
    const survey = await admin.create('/surveys', { title: 'Lunch', description: 'How was it?' });
    const question = await admin.create(`/surveys/${survey.id}/questions`, {
      type: 'MATRIX',
      text: 'Rate',
      options: [{ text: 'Good' }, { text: 'Bad' }],
      settings: { rows: [{ text: 'Soup' }, { text: 'Bread' }] },
    });
    await admin.post(`/surveys/${survey.id}/publish`);
    return { id: survey.id, question };
  };
  const put = (id: string, language: string, body: unknown) =>
    admin.call('PUT', `/surveys/${id}/translations/${language}`, { body });

  it('is shown string by string, with missing strings in the survey’s own language', async () => {
    const { id, question } = await make();
    const saved = await put(id, 'de', {
      title: 'Mittagessen',
      questions: [
        {
          id: question.id,
          options: [{ id: question.options[0].id, text: 'Gut' }],
          rows: [{ id: question.settings.rows[1].id, text: 'Brot' }],
        },
      ],
    });
    assert.equal(saved.status, 200, JSON.stringify(saved.body));
    translationSchema.parse(saved.body.data);
    assert.deepEqual(saved.body.data.stale, []);
    assert.deepEqual(saved.body.data.missing, [
      'description',
      `questions.${question.id}.text`,
      `questions.${question.id}.options.${question.options[1].id}`,
      `questions.${question.id}.rows.${question.settings.rows[0].id}`,
    ]);
    const shown = await read(id, '?lang=de');
    assert.deepEqual([shown.language, shown.direction, shown.languages], ['de', 'ltr', ['en', 'de']]);
    assert.deepEqual(
      [shown.title, shown.description, shown.questions[0]?.text],
      ['Mittagessen', 'How was it?', 'Rate'],
    );
    assert.deepEqual(
      shown.questions[0]?.options.map(({ text }) => text),
      ['Gut', 'Bad'],
    );
    assert.deepEqual(
      (shown.questions[0]?.settings['rows'] as { text: string }[] | undefined)?.map(({ text }) => text),
      ['Soup', 'Brot'],
    );
    assert.equal((await read(id)).title, 'Lunch');
  });

  it('is merged string by string, and null removes one', async () => {
    const { id, question } = await make();
    await put(id, 'fr', { title: 'Déjeuner' });
    await put(id, 'fr', { questions: [{ id: question.id, text: 'Notez' }] });
    const shown = await read(id, '?lang=fr');
    assert.deepEqual([shown.title, shown.questions[0]?.text], ['Déjeuner', 'Notez']);
    await put(id, 'fr', { title: null });
    assert.equal((await read(id, '?lang=fr')).title, 'Lunch');
    await admin.remove(`/surveys/${id}/translations/fr`);
    assert.equal((await admin.call('GET', `/surveys/${id}/translations/fr`)).status, 404);
    assert.equal((await read(id, '?lang=fr')).language, 'en');
  });

  it('is not made of removals alone', async () => {
    const { id, question } = await make();
    const languages = async () =>
      (await admin.get(`/surveys/${id}/translations`)).map(({ language }: { language: string }) => language);
    const removals = { title: null, questions: [{ id: question.id, text: null }] };
    for (const body of [removals, { questions: [] }]) assert.equal((await put(id, 'nl', body)).status, 404);
    assert.deepEqual(await languages(), ['en']);
    assert.equal((await put(id, 'nl', { ...removals, description: 'Hoe was het?' })).status, 200);
    assert.equal((await put(id, 'nl', { description: null })).status, 200);
    assert.deepEqual(await languages(), ['en', 'nl']);
  });

  it('is overwritten by no translator who says what it replaces and has not seen the text of another', async () => {
    const { id, question } = await make();
    const seen = (await put(id, 'it', { title: 'Pranzo' })).body.data.updatedAt;
    const save = (title: string, since: string) =>
      admin.call('PUT', `/surveys/${id}/translations/it?ifUnchangedSince=${since}`, { body: { title } });
    const replies = await Promise.all(Array.from({ length: 10 }, (_, n) => save(`Pranzo ${n}`, seen)));
    const saved = replies.filter(({ status }) => status === 200);
    assert.equal(saved.length, 1);
    for (const { status, body } of replies.filter((reply) => reply !== saved[0]))
      assert.deepEqual([status, body.code, body.details.reason], [409, 'CONFLICT', 'CHANGED_MEANWHILE']);
    const present = await admin.get(`/surveys/${id}/translations/it`);
    assert.equal(present.title, saved[0]?.body.data.title);
    assert.equal((await save('Pranzo ancora', present.updatedAt)).status, 200);
    await put(id, 'it', { questions: [{ id: question.id, text: 'Valuti' }] });
    assert.equal((await admin.get(`/surveys/${id}/translations/it`)).title, 'Pranzo ancora');
    await admin.remove(`/surveys/${id}/translations/it`);
    assert.equal((await save('Di nuovo', present.updatedAt)).status, 409, 'deleted meanwhile');
    assert.equal((await save('Di nuovo', 'yesterday')).status, 400);
  });

  it('does not count as up to date where its source was reworded between its being read and stored', async () => {
    const { id, question } = await make();
    const { version } = await admin.get(`/surveys/${id}`);
    const save = (seen: unknown) =>
      admin.call('PUT', `/surveys/${id}/translations/nl?ifSurveyVersion=${seen}`, { body: { title: 'Middagmaal' } });
    assert.equal((await save(version)).status, 200);
    await admin.put(`/surveys/questions/${question.id}`, { text: 'Do not rate' });
    const { status, body } = await save(version);
    assert.deepEqual([status, body.code, body.details.reason], [409, 'CONFLICT', 'CHANGED_MEANWHILE']);
    const { version: next } = await admin.get(`/surveys/${id}`);
    assert.equal((await save(next)).status, 200);
    await admin.put(`/surveys/${id}`, { appearance: { closingText: 'Thank you' } });
    assert.equal((await save(next)).status, 200, 'the closing text belongs to the look, which has no versions');
    assert.equal((await save('last')).status, 400);
  });

  it('becomes stale when its source is reworded, until it is updated', async () => {
    const { id, question } = await make();
    await put(id, 'es', { title: 'Almuerzo', questions: [{ id: question.id, text: 'Valore' }] });
    await admin.put(`/surveys/questions/${question.id}`, { text: 'Please rate' });
    assert.deepEqual((await admin.get(`/surveys/${id}/translations/es`)).stale, [`questions.${question.id}.text`]);
    assert.equal((await read(id, '?lang=es')).questions[0]?.text, 'Valore');
    await put(id, 'es', { questions: [{ id: question.id, text: 'Valore' }] });
    assert.deepEqual((await admin.get(`/surveys/${id}/translations/es`)).stale, []);
  });

  it('exists for fifteen languages, of which Arabic and Hebrew read from right to left', async () => {
    const survey = await admin.create('/surveys', { title: 'X', language: 'sv' });
    await admin.post(`/surveys/${survey.id}/publish`);
    for (const language of translationLanguages)
      assert.equal((await put(survey.id, language, { title: `in ${language}` })).status, 200, language);
    for (const language of translationLanguages) {
      const shown = await read(survey.id, `?lang=${language}`);
      assert.deepEqual(
        [shown.title, shown.direction],
        [`in ${language}`, ['ar', 'he'].includes(language) ? 'rtl' : 'ltr'],
      );
    }
    assert.equal((await admin.get(`/surveys/${survey.id}/translations`)).length, 16);
    for (const [asked, given] of [
      ['es-MX', 'es'],
      ['zh', 'zh-Hans'],
      ['zh-TW', 'zh-Hant'],
      ['zh-hans-CN', 'zh-Hans'],
      ['tr', 'sv'],
      ['HE', 'he'],
    ])
      assert.equal((await read(survey.id, `?lang=${asked}`)).language, given, asked);
  });

  it('to what becomes the survey’s own language at the same moment is refused, or that change is', async () => {
    for (let n = 0; n < 25; n += 1) {
      const { id } = await admin.create('/surveys', { title: 'Lunch' });
      const statuses = await Promise.all([
        put(id, 'de', { title: 'Mittagessen' }).then(({ status }) => status),
        admin.call('PUT', `/surveys/${id}`, { body: { language: 'de' } }).then(({ status }) => status),
      ]);
      assert.deepEqual(statuses.toSorted(), [200, 400], `survey ${n}: ${statuses}`);
    }
  });

  it('is refused for other languages, the survey’s own, and strings that the survey does not have', async () => {
    const { id, question } = await make();
    for (const [language, body] of [
      ['sv', { title: 'x' }],
      ['en', { title: 'x' }],
      ['de', {}],
      ['de', { titel: 'x' }],
      ['de', { questions: [{ id: randomUUID(), text: 'x' }] }],
      ['de', { title: '' }],
      ['de', { questions: [{ id: question.id, description: 'there is none' }] }],
      ['de', { questions: [{ id: question.id, options: [{ id: randomUUID(), text: 'x' }] }] }],
      ['de', { title: 'x'.repeat(301) }],
    ] as const) {
      const reply = await put(id, language, body);
      assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body));
    }
    assert.equal((await admin.call('GET', `/surveys/${id}/translations/de`)).status, 404);
    assert.equal((await admin.call('DELETE', `/surveys/${id}/translations/de`)).status, 404);
  });
});

describe('the public view of a survey', () => {
  it('shows what a respondent needs for every type of question, and nothing else', async () => {
    const full = await createFullSurvey(admin, { responseQuota: 77, retentionDays: 12, submissionRateLimit: 1234 });
    await admin.submit(full.id, { answers: answersOf(full, 1) });
    const shown = await read(full.id);
    assert.deepEqual(Object.keys(shown).sort(), [
      'appearance',
      'description',
      'direction',
      'id',
      'isAnonymous',
      'isShuffled',
      'language',
      'languages',
      'questions',
      'sections',
      'title',
      'version',
    ]);
    assert.equal(shown.questions.length, 17);
    for (const question of shown.questions) {
      assert.deepEqual(Object.keys(question).sort(), [
        'description',
        'id',
        'isRequired',
        'options',
        'order',
        'settings',
        'text',
        'type',
      ]);
      for (const item of [...question.options, ...((question.settings['rows'] ?? []) as object[])])
        assert.deepEqual(Object.keys(item).sort(), ['id', 'text']);
    }
    const owner = await admin.get('/auth/me');
    const text = JSON.stringify((await visit(full.id)).body);
    for (const secret of [owner.id, owner.email, '"77"', ':77', '1234', 'accessToken', 'Quota', 'Count'])
      assert.ok(!text.includes(secret), secret);
  });

  it('exists only while the survey takes responses', async () => {
    const survey = await admin.create('/surveys', { title: 'Now and then' });
    const statuses: unknown[] = [];
    for (const status of ['DRAFT', 'ACTIVE', 'PAUSED', 'ACTIVE', 'CLOSED']) {
      await admin.put(`/surveys/${survey.id}`, { status });
      statuses.push((await visit(survey.id)).status);
    }
    assert.deepEqual(statuses, [404, 200, 404, 200, 404]);
    const later = await admin.create('/surveys', {
      title: 'Later',
      status: 'ACTIVE',
      startsAt: new Date(Date.now() + 3_600_000).toISOString(),
    });
    assert.equal((await visit(later.id)).status, 404);
    await admin.remove(`/surveys/${survey.id}`);
    for (const id of [survey.id, randomUUID(), 'x']) assert.equal((await visit(id)).status, 404, id);
    assert.equal((await visit(later.id, '?lang=<b>')).status, 400);
  });

  it('of a PRIVATE survey is not found without its token', async () => {
    const survey = await admin.create('/surveys', { title: 'Secret', visibility: 'PRIVATE' });
    await admin.post(`/surveys/${survey.id}/publish`);
    const without = await visit(survey.id);
    const missing = await visit(randomUUID());
    assert.deepEqual([without.status, without.body.message], [404, missing.body.message]);
    assert.equal((await visit(survey.id, '', { 'x-survey-token': 'guess' })).status, 404);
    assert.equal((await visit(survey.id, '', { 'x-survey-token': survey.accessToken })).status, 200);
    await admin.call('POST', `/surveys/${survey.id}/rotate-token`);
    assert.equal((await visit(survey.id, '', { 'x-survey-token': survey.accessToken })).status, 404);
  });
});
