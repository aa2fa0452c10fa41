import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freshDatabase } from '../support/auth-server.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { answersOf, createFullSurvey } from '../support/every-type.ts';
import { askedAfterEach, askedInGappedScale, createGappedScale } from '../support/gapped-scale.ts';
import { signInNewUser } from '../support/new-user.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

describe('a copy of a survey', () => {
  let service: RunningService;
  let admin: Client;
  useService((served) => {
    ({ service, admin } = served);
  });

  const signIn = async (role: 'EDITOR' | 'VIEWER'): Promise<{ id: string; client: Client }> => {
    const client = await signInNewUser(service, admin, role);
    return { id: client.id, client };
  };
  /** All fields except ids and times. */
  const wording = (survey: any) =>
    JSON.parse(JSON.stringify(survey.questions), (key, value) =>
      ['id', 'surveyId', 'createdAt', 'updatedAt'].includes(key) ? undefined : value,
    );

  it('has quotas about its own questions, with no seat taken, and its default collector alone', async () => {
    const { id } = await admin.create('/surveys', { title: 'Panel' });
    const options = ['North', 'South'].map((text) => ({ text }));
    const region = await admin.create(`/surveys/${id}/questions`, { type: 'MULTIPLE_CHOICE', text: 'Region', options });
    await admin.create(`/surveys/${id}/collectors`, { name: 'Street', responseQuota: 1 });
    await admin.create(`/surveys/${id}/quotas/grid`, { questionIds: [region.id], limit: 1 });
    await admin.post(`/surveys/${id}/publish`);
    const outcomes = async (surveyId: string, [question]: any[]) => {
      await eventually(async () =>
        assert.ok((await admin.get(`/surveys/${surveyId}/quotas`)).every((quota: any) => !quota.isCounting)),
      );
      const answers = [{ questionId: question.id, optionId: question.options[0].id }];
      return [
        (await admin.submit(surveyId, { answers })).body.data.outcome,
        (await admin.submit(surveyId, { answers })).body.data.outcome,
      ];
    };
    assert.deepEqual(await outcomes(id, [region]), ['COMPLETED', 'OVER_QUOTA']);
    const copy = await admin.create(`/surveys/${id}/duplicate`);
    await admin.post(`/surveys/${copy.id}/publish`);
    assert.deepEqual(await outcomes(copy.id, copy.questions), ['COMPLETED', 'OVER_QUOTA']);
    const [of, ofCopy] = [await admin.get(`/surveys/${id}/quotas`), await admin.get(`/surveys/${copy.id}/quotas`)];
    const shown = (quotas: any[]) => quotas.map(({ name, limit, count }) => [name, limit, count]);
    assert.deepEqual(
      [shown(ofCopy), shown(of)],
      [
        shown(of),
        [
          ['North', 1, 1],
          ['South', 1, 0],
        ],
      ],
    );
    assert.deepEqual(
      ofCopy.map(({ where }: any) => where.all[0].questionId),
      copy.questions.flatMap((question: any) => [question.id, question.id]),
    );
    const collectors = await admin.get(`/surveys/${copy.id}/collectors`);
    assert.equal(collectors.length, 1, JSON.stringify(collectors));
  });

  it('asks the same after each option of a scale that has lost one, and its quotas name the same', async () => {
    const id = await createGappedScale(admin);
    assert.deepEqual(await askedAfterEach(admin, id), askedInGappedScale);
    const copy = await admin.create(`/surveys/${id}/duplicate`);
    await admin.post(`/surveys/${copy.id}/publish`);
    assert.deepEqual(await askedAfterEach(admin, copy.id), askedInGappedScale);
    const [quota] = await admin.get(`/surveys/${copy.id}/quotas`);
    assert.equal(quota.where.value, 4);
    await admin.put(`/surveys/${copy.id}/quotas/${quota.id}`, { name: 'Renamed' });
    const [{ options }] = copy.questions;
    assert.deepEqual(
      options.map(({ point }: any) => point),
      [undefined, undefined, undefined, undefined],
    );
    // An edit of its words leaves the conditions what they are.
    await admin.put(`/surveys/questions/${copy.questions[0].id}`, { options });
    assert.deepEqual(await askedAfterEach(admin, copy.id), askedInGappedScale);
  });

  it('takes no title with placeholders that other calls refuse', async () => {
    const { id } = await admin.create('/surveys', { title: 'Hi {{metadata:name}}' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Again?' });
    for (const placeholder of ['{{question:nope}}', '{{metadata:}}', `{{question:${question.id}}}`]) {
      const title = `Hi ${placeholder}`;
      for (const [method, path] of [
        ['PUT', `/surveys/${id}`],
        ['POST', `/surveys/${id}/duplicate`],
      ] as const) {
        const { status, body } = await admin.call(method, path, { body: { title } });
        assert.deepEqual([status, body.details?.[0]?.path], [400, 'title'], `${method} ${title}`);
      }
    }
    assert.equal(
      (await admin.create(`/surveys/${id}/duplicate`, { title: 'To {{metadata:x}}' })).title,
      'To {{metadata:x}}',
    );
  });

  it('has questions of every type under new ids and no responses, and takes submissions', async () => {
    const full = await createFullSurvey(admin, {
      visibility: 'PRIVATE',
      responseQuota: 5,
      retentionDays: 30,
      description: 'All of it',
      endsAt: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const source = await admin.get(`/surveys/${full.id}`);
    assert.equal(
      (await admin.submit(full.id, { answers: answersOf(full, 1), surveyToken: source.accessToken })).status,
      201,
    );
    const copy = await admin.create(`/surveys/${full.id}/duplicate`);
    assert.deepEqual(wording(copy), wording(source));
    assert.deepEqual(
      [
        copy.title,
        copy.status,
        copy.responseCount,
        copy.version,
        copy.description,
        copy.responseQuota,
        copy.retentionDays,
        copy.endsAt,
        copy.publishedAt,
      ],
      [`${source.title} (copy)`, 'DRAFT', 0, 1, 'All of it', 5, 30, null, null],
    );
    assert.ok(copy.accessToken && copy.accessToken !== source.accessToken);
    const idsOf = (survey: unknown): string[] => JSON.stringify(survey).match(/"id":"[0-9a-f-]{36}"/g) ?? [];
    const shared = new Set(idsOf(source));
    assert.deepEqual(
      idsOf(copy).filter((id) => shared.has(id)),
      [],
    );
    const named = await admin.create(`/surveys/${copy.id}/duplicate`, { title: 'Another name' });
    assert.equal(named.title, 'Another name');
    await admin.post(`/surveys/${named.id}/publish`);
    const nps = named.questions.find((question: any) => question.type === 'NPS');
    const required = named.questions.filter((question: any) => question.isRequired && question.type !== 'NPS');
    assert.deepEqual(required, []);
    assert.equal(
      (
        await admin.submit(named.id, {
          answers: [{ questionId: nps.id, numberValue: 9 }],
          surveyToken: named.accessToken,
        })
      ).status,
      201,
    );
    assert.equal((await admin.get(`/surveys/${full.id}`)).responseCount, 1);
  });

  it('has every translation of the original, stale strings included', async () => {
    const { id } = await admin.create('/surveys', { title: 'Lunch', description: 'How was it?' });
    const matrix = await admin.create(`/surveys/${id}/questions`, {
      type: 'MATRIX',
      text: 'Rate',
      description: 'All',
      options: [{ text: 'Good' }, { text: 'Bad' }],
      settings: { rows: [{ text: 'Soup' }, { text: 'Bread' }] },
    });
    const gone = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Name?' });
    await admin.put(`/surveys/${id}/translations/de`, {
      title: 'Mittagessen',
      description: 'Wie war es?',
      questions: [
        {
          id: matrix.id,
          text: 'Bewerten',
          description: 'Alles',
          options: [{ id: matrix.options[0].id, text: 'Gut' }],
          rows: [{ id: matrix.settings.rows[1].id, text: 'Brot' }],
        },
        { id: gone.id, text: 'Name?' },
      ],
    });
    await admin.put(`/surveys/${id}/translations/ar`, { title: 'غداء' });
    await admin.put(`/surveys/questions/${matrix.id}`, { text: 'Please rate' });
    await admin.remove(`/surveys/${id}/questions/${gone.id}`);
    const copy = await admin.create(`/surveys/${id}/duplicate`, { title: 'Lunch' });
    const [question] = copy.questions;
    assert.deepEqual(
      (await admin.get(`/surveys/${copy.id}/translations`)).map(({ language }: any) => language),
      ['en', 'ar', 'de'],
    );
    const { updatedAt: _, ...german } = await admin.get(`/surveys/${copy.id}/translations/de`);
    assert.deepEqual(german, {
      language: 'de',
      direction: 'ltr',
      title: 'Mittagessen',
      description: 'Wie war es?',
      sections: [],
      questions: [
        {
          id: question.id,
          text: 'Bewerten',
          description: 'Alles',
          options: [{ id: question.options[0].id, text: 'Gut' }],
          rows: [{ id: question.settings.rows[1].id, text: 'Brot' }],
        },
      ],
      stale: [`questions.${question.id}.text`],
      missing: [
        `questions.${question.id}.options.${question.options[1].id}`,
        `questions.${question.id}.rows.${question.settings.rows[0].id}`,
      ],
    });
    await admin.put(`/surveys/${copy.id}/translations/ar`, { title: null });
    assert.equal((await admin.get(`/surveys/${id}/translations/ar`)).title, 'غداء', 'the original keeps its own');
    const renamed = await admin.create(`/surveys/${id}/duplicate`);
    assert.deepEqual(
      (await admin.get(`/surveys/${renamed.id}/translations/ar`)).stale,
      ['title'],
      'a title of its own is not yet translated',
    );
  });

  it('belongs to the caller: readers with the role EDITOR may copy, a VIEWER and strangers may not', async () => {
    const [owner, reader, viewer, stranger] = [
      await signIn('EDITOR'),
      await signIn('EDITOR'),
      await signIn('VIEWER'),
      await signIn('EDITOR'),
    ];
    const { id } = await owner.client.create('/surveys', { title: 'Mine' });
    for (const member of [reader, viewer])
      await owner.client.put(`/surveys/${id}/members/${member.id}`, { role: 'VIEWER' });
    assert.equal((await reader.client.create(`/surveys/${id}/duplicate`)).ownerId, reader.id);
    assert.deepEqual(
      [
        (await viewer.client.call('POST', `/surveys/${id}/duplicate`)).status,
        (await stranger.client.call('POST', `/surveys/${id}/duplicate`)).status,
      ],
      [403, 404],
    );
    assert.equal(
      (await owner.client.call('POST', `/surveys/${id}/duplicate`, { body: { ownerId: stranger.id } })).status,
      400,
    );
    assert.equal((await owner.client.get('/surveys')).length, 1);
  });
});

describe('a copy whose translations cannot be saved', () => {
  it('is not made, so that the repeated call makes the only one', async () => {
    await sharedStores();
    const database = await freshDatabase();
    const service = await startService({ env: { DATABASE_URL: database.url } });
    try {
      const admin = await adminClient(service);
      const { id } = await admin.create('/surveys', { title: 'Panel' });
      for (const language of ['de', 'fr'])
        await admin.put(`/surveys/${id}/translations/${language}`, { title: 'Feld' });
      await database.sql
        .unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE 'no' USING ERRCODE = 'query_canceled'; END $$;
          CREATE TRIGGER refuse BEFORE INSERT ON translations FOR EACH ROW WHEN (NEW.language = 'fr')
          EXECUTE FUNCTION refuse()`)
        .simple();
      const refused = await admin.call('POST', `/surveys/${id}/duplicate`);
      assert.deepEqual([refused.status, refused.body.code], [503, 'SERVICE_UNAVAILABLE']);
      await database.sql`DROP TRIGGER refuse ON translations`;
      const copy = await admin.create(`/surveys/${id}/duplicate`);
      const surveys: { id: string }[] = await admin.get('/surveys');
      assert.deepEqual(surveys.map((survey) => survey.id).sort(), [id, copy.id].sort());
      const translations: { language: string }[] = await admin.get(`/surveys/${copy.id}/translations`);
      assert.deepEqual(translations.map(({ language }) => language).sort(), ['de', 'en', 'fr']);
    } finally {
      assert.equal(await service.stop(), 0);
      await database.drop();
    }
  });
});
