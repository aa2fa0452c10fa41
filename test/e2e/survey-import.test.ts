import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { createFullSurvey } from '../support/every-type.ts';
import { askedAfterEach, askedInGappedScale, createGappedScale } from '../support/gapped-scale.ts';
import { signInNewUser } from '../support/new-user.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('a survey from the JSON of another', () => {
  let service: RunningService;
  let admin: Client;
  useService((served) => {
    ({ service, admin } = served);
  });

  const importOf = (body: unknown, client: Client = admin) =>
    client.call('POST', '/surveys/import', { body: body as object });
  /** The survey with its ids replaced by their places, so that what names them can be compared. */
  const withoutIds = (survey: any) => {
    const { sections, questions, title, description, language, appearance } = survey;
    const ids = new Map<string, string>();
    const learn = (items: { id: string }[], name: string) => {
      for (const [index, { id }] of items.entries()) ids.set(id, `${name}.${index}`);
    };
    learn(sections, 'section');
    learn(questions, 'question');
    for (const [index, { options, settings }] of questions.entries()) {
      learn(options, `option.${index}`);
      learn(settings.rows ?? [], `row.${index}`);
    }
    const text = JSON.stringify({ sections, questions, title, description, language, appearance });
    return JSON.parse(text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => ids.get(id) ?? 'another id'));
  };

  it('has questions of every type as they were, under new ids', async () => {
    const { id } = await createFullSurvey(admin, { description: 'All of it', language: 'de', visibility: 'PRIVATE' });
    const source = await admin.get(`/surveys/${id}`);
    const reply = await importOf(source);
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    const made = reply.body.data;
    assert.deepEqual(withoutIds(made), withoutIds(source));
    assert.deepEqual([made.status, made.version, made.responseCount, made.visibility], ['DRAFT', 1, 0, 'PRIVATE']);
    assert.ok(made.accessToken && made.accessToken !== source.accessToken);
    const shared = source.questions.filter((question: any) => JSON.stringify(made).includes(question.id));
    assert.deepEqual(shared, []);
    assert.deepEqual((await admin.get(`/surveys/${made.id}`)).questions, made.questions);
  });

  it('may be made of a former version, as that is read', async () => {
    const { id } = await admin.create('/surveys', { title: 'Before' });
    await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Again?' });
    const { version } = await admin.get(`/surveys/${id}`);
    await admin.put(`/surveys/${id}`, { title: 'After' });
    const former = await admin.get(`/surveys/${id}/versions/${version}`);
    assert.notEqual(former.replacedAt, null);
    const reply = await importOf(former);
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    assert.deepEqual(
      [reply.body.data.title, reply.body.data.questions.map(({ text }: any) => text), reply.body.data.version],
      ['Before', ['Again?'], 1],
    );
  });

  it('keeps sections, conditions, skips and placeholders, which name the new ids', async () => {
    const { id } = await admin.create('/surveys', { title: 'Paths' });
    const section = await admin.create(`/surveys/${id}/sections`, { title: 'Dinner' });
    const add = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const dish = await add({
      type: 'MULTIPLE_CHOICE',
      text: 'Which dish?',
      options: [{ text: 'Soup' }, { text: 'Salad' }],
      sectionId: section.id,
    });
    const soup = { questionId: dish.id, operator: 'isAnyOf', optionIds: [dish.options[0].id] };
    await add({
      type: 'MATRIX',
      text: `How was {{question:${dish.id}|it}}?`,
      options: [{ text: 'Good' }, { text: 'Bad', visibleIf: soup }],
      settings: { rows: [{ text: 'Taste' }, { text: 'Price', visibleIf: soup }] },
      sectionId: section.id,
      visibleIf: soup,
      skips: [{ if: soup, to: 'END' }],
    });
    await admin.put(`/surveys/${id}`, { appearance: { closingText: `Enjoy {{question:${dish.id}|it}}` } });
    const source = await admin.get(`/surveys/${id}`);
    const reply = await importOf(source);
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    assert.deepEqual(withoutIds(reply.body.data), withoutIds(source));
    assert.equal(JSON.stringify(reply.body.data).includes(dish.id), false);
  });

  it('asks the same after each option of a scale that has lost one', async () => {
    const id = await createGappedScale(admin);
    for (const query of ['', '?includeHidden=true']) {
      const source = await admin.get(`/surveys/${id}${query}`);
      const shown = source.questions[0].options.filter((option: any) => !option.isHidden);
      assert.deepEqual(
        shown.map(({ point }: any) => point),
        [undefined, undefined, 4, 5],
      );
      const { body, status } = await importOf(source);
      assert.equal(status, 201, JSON.stringify(body));
      await admin.post(`/surveys/${body.data.id}/publish`);
      assert.deepEqual(await askedAfterEach(admin, body.data.id), askedInGappedScale);
    }
    // What was read can be given back.
    const { questions } = await admin.get(`/surveys/${id}`);
    const { options } = await admin.put(`/surveys/questions/${questions[0].id}`, { options: questions[0].options });
    assert.deepEqual(options, questions[0].options);
  });

  it('has its own id, owner, times, status and token, whatever the file says', async () => {
    const { id } = await admin.create('/surveys', { title: 'Of another', status: 'ACTIVE', visibility: 'PRIVATE' });
    const source = await admin.get(`/surveys/${id}`);
    const editor = await signInNewUser(service, admin, 'EDITOR');
    const { body } = await importOf({ ...source, accessToken: 'known', responseCount: 7, version: 9 }, editor);
    const made = body.data;
    assert.deepEqual(
      [made.ownerId, made.status, made.responseCount, made.version, made.publishedAt],
      [editor.id, 'DRAFT', 0, 1, null],
    );
    assert.ok(made.id !== id && made.accessToken !== 'known' && made.accessToken !== source.accessToken);
    assert.ok(made.createdAt > source.createdAt);
  });

  it('leaves out what was removed from the survey that was read', async () => {
    const { id } = await admin.create('/surveys', { title: 'Edited' });
    const add = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const [good, bad] = [{ text: 'Good' }, { text: 'Bad' }];
    const dish = await add({ type: 'MULTIPLE_CHOICE', text: 'Which dish?', options: [{ text: 'Soup' }, good] });
    await add({ type: 'MATRIX', text: 'How was it?', options: [good, bad], settings: { rows: [good, bad] } });
    const gone = await add({ type: 'NPS', text: 'Removed' });
    await admin.put(`/surveys/questions/${dish.id}`, { options: [good] });
    const { questions } = await admin.get(`/surveys/${id}`);
    await admin.put(`/surveys/questions/${questions[1].id}`, { options: [bad], settings: { rows: [bad] } });
    await admin.remove(`/surveys/${id}/questions/${gone.id}`);
    const reply = await importOf(await admin.get(`/surveys/${id}?includeHidden=true`));
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    assert.deepEqual(withoutIds(reply.body.data), withoutIds(await admin.get(`/surveys/${id}`)));
    const stored = await admin.get(`/surveys/${reply.body.data.id}?includeHidden=true`);
    assert.equal(JSON.stringify(stored).includes('isHidden'), false);
  });

  it('is made of what calls take, without any ids', async () => {
    const reply = await importOf({
      title: 'By hand',
      questions: [
        { type: 'YES_NO', text: 'Again?' },
        { type: 'DROPDOWN', text: 'Which?', options: [{ text: 'A' }, { text: 'B' }] },
      ],
    });
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    assert.deepEqual(
      reply.body.data.questions.map(({ type, order }: any) => [type, order]),
      [
        ['YES_NO', 0],
        ['DROPDOWN', 1],
      ],
    );
  });

  it('is refused as a whole with the place that is wrong', async () => {
    const question = { type: 'MULTIPLE_CHOICE', text: 'Which?', options: [{ text: 'A' }] };
    const places: [unknown, string][] = [
      [{}, 'title'],
      [[], ''],
      [{ title: 'x', pages: [] }, 'pages'],
      [{ title: 'x', questions: 'none' }, 'questions'],
      [{ title: 'x', questions: [question, { ...question, type: 'PIE' }] }, 'questions.1.type'],
      [{ title: 'x', questions: [question, { ...question, options: [] }] }, 'questions.1.options'],
      [{ title: 'x', questions: [{ ...question, text: 'a\0b' }] }, 'questions.0.text'],
      [{ title: 'x', questions: [{ ...question, sectionId: 'none' }] }, 'questions.0.sectionId'],
      [
        {
          title: 'x',
          questions: [
            { ...question, id: 'one' },
            { ...question, id: 'one' },
          ],
        },
        'questions.1.id',
      ],
      [
        { title: 'x', questions: [{ ...question, visibleIf: { questionId: 'later', operator: 'answered' } }] },
        'questions.0.visibleIf.questionId',
      ],
      [{ title: 'x', appearance: { primaryColor: '#ffffff' } }, 'appearance.primaryColor'],
      [
        {
          title: 'x',
          questions: [{ type: 'MATRIX', text: 'How?', options: [{ text: 'A' }], settings: { rows: [5] } }],
        },
        'questions.0.settings.rows.0',
      ],
      [{ title: 'x', questions: Array.from({ length: 501 }, () => question) }, 'questions'],
    ];
    const before = (await admin.call('GET', '/surveys')).body.pagination.total;
    for (const [body, place] of places) {
      const { status, body: problem } = await importOf(body);
      assert.deepEqual([status, problem.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body).slice(0, 200));
      assert.equal(problem.details[0].path, place, JSON.stringify(problem));
    }
    assert.equal((await admin.call('GET', '/surveys')).body.pagination.total, before);
    const viewer = await signInNewUser(service, admin, 'VIEWER');
    assert.equal((await importOf({ title: 'x' }, viewer)).status, 403);
  });

  it('may have 500 questions', async () => {
    const questions = Array.from({ length: 500 }, (_, index) => ({ type: 'SHORT_TEXT', text: `Question ${index}` }));
    // A busy database may refuse it at first.
    const survey = await eventually(async () => {
      const reply = await importOf({ title: 'Long', questions });
      assert.equal(reply.status, 201, JSON.stringify(reply.body).slice(0, 500));
      return reply.body.data;
    }, 60_000);
    assert.equal(survey.questions.length, 500);
  });
});
