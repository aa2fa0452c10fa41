import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { compilePaths, givenAnswers, pathOf } from '../../src/domain/path/path.ts';
import { type Client, createClient } from '../support/client.ts';
import { assertConforms } from '../support/conform.ts';
import { answersOf, createFullSurvey } from '../support/every-type.ts';
import { type HotelSurvey, hotelSurvey } from '../support/hotel-survey.ts';
import { makeInvitations } from '../support/invitations.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

let service: RunningService;
let admin: Client;
useService((served) => {
  ({ service, admin } = served);
});

const respondent = () => createClient(service);
const postPath = async (id: string, body: unknown, headers: Record<string, string> = {}) => {
  const reply = await respondent().call('POST', `/public/surveys/${id}/path`, { body, headers });
  assertConforms('POST /public/surveys/{id}/path', reply);
  return reply;
};
const pathFor = async (id: string, body: object) => {
  const { status, body: said } = await postPath(id, body);
  assert.equal(status, 200, JSON.stringify(said));
  return said.data;
};
/** The questions of a path by their names in the hotel's survey. */
const namesOf = ({ questions }: HotelSurvey, path: any): string[] => {
  const names = new Map(Object.entries(questions).map(([name, { id }]) => [id, name]));
  return path.sections.flatMap((section: any) => section.questions.map(({ id }: any) => names.get(id)));
};
const open = async (fields: object = {}) => {
  const survey = await hotelSurvey(admin, fields);
  await admin.post(`/surveys/${survey.id}/publish`);
  return survey;
};
const choose = (question: any, ...places: number[]) =>
  places.map((place) => ({ questionId: question.id, optionId: question.options[place].id }));

describe('POST /public/surveys/{id}/path', () => {
  it('gives what a respondent is asked, answer by answer', async () => {
    const survey = await open();
    const { id, questions, sections } = survey;
    const { name, breakfast, dishes, best, rooms, why, again } = questions;
    const first = await pathFor(id, { answers: [] });
    assert.deepEqual(namesOf(survey, first), ['name', 'breakfast', 'rooms', 'best', 'why', 'again']);
    assert.deepEqual(
      first.sections.map((section: any) => [section.id, section.title]),
      [
        [null, ''],
        [sections.stay.id, 'Your stay'],
        [sections.after.id, 'Afterwards'],
      ],
    );
    assert.deepEqual(
      [first.next, first.outcome, first.progress, first.fullQuotas, first.title],
      [name.id, 'OPEN', 0, [], 'Your stay, dear guest'],
    );
    const answers = [{ questionId: name.id, textValue: 'Ann <b>' }, ...choose(breakfast, 0), ...choose(dishes, 1, 2)];
    const second = await pathFor(id, { answers, metadata: { guest: 'Ann' } });
    assert.deepEqual(namesOf(survey, second), ['name', 'breakfast', 'dishes', 'rooms', 'best', 'why', 'again']);
    const shown = new Map(
      second.sections.flatMap((section: any) => section.questions).map((each: any) => [each.id, each]),
    );
    const textOf = (question: any) => (shown.get(question.id) as any).text;
    assert.deepEqual(
      [second.title, textOf(dishes), textOf(why)],
      ['Your stay, Ann', 'What did you have, Ann <b>?', 'Why Bread and Fruit?'],
    );
    assert.deepEqual(
      (shown.get(best.id) as any).options.map(({ text }: any) => text),
      ['Bread', 'Fruit', 'None of them'],
    );
    assert.equal((shown.get(rooms.id) as any).settings.rows.length, 2);
    assert.equal(second.next, rooms.id);
    assert.ok(second.progress > 0.4 && second.progress < 0.5);
    // Eggs screen out; a bad bed hides the section, and with it the skip.
    const eggs = await pathFor(id, { answers: [...choose(breakfast, 0), ...choose(dishes, 0)] });
    assert.deepEqual([eggs.outcome, eggs.next, eggs.progress], ['SCREENED_OUT', null, 1]);
    const bed = { questionId: rooms.id, rowId: rooms.settings.rows[0].id, optionId: rooms.options[1].id };
    const bad = await pathFor(id, { answers: [...choose(breakfast, 1), bed] });
    assert.deepEqual(namesOf(survey, bad), ['name', 'breakfast', 'rooms', 'best']);
    assert.deepEqual([bad.outcome, bad.next], ['OPEN', best.id]);
    const done = await pathFor(id, { answers: [...choose(breakfast, 1), { questionId: again.id, numberValue: 9 }] });
    assert.equal(done.outcome, 'COMPLETE');
  });

  it('is in the language of the invitation, else of the collector, as the submission is', async () => {
    const { id } = await admin.create('/surveys', { title: 'Stay', status: 'ACTIVE' });
    const ask = (text: string, tag: string) => ({
      type: 'NPS',
      text,
      isRequired: true,
      visibleIf: { language: [tag] },
    });
    const questions = [
      await admin.create(`/surveys/${id}/questions`, ask('for English', 'en')),
      await admin.create(`/surveys/${id}/questions`, ask('for French', 'fr')),
      await admin.create(`/surveys/${id}/questions`, ask('for German', 'de')),
    ];
    await admin.put(`/surveys/${id}/translations/fr`, { title: 'Séjour' });
    const fields = { name: 'List', kind: 'INVITATION', language: 'de' };
    const { id: collectorId } = await admin.create(`/surveys/${id}/collectors`, fields);
    const made = await makeInvitations(service, admin, collectorId, [{ language: 'fr' }, {}, {}]);
    const [french, german, named] = made.map(({ token }) => ({ invitation: token }));
    const takenAs = async (given: object) => {
      const { language, title, sections } = await pathFor(id, { answers: [], ...given });
      const shown = sections.flatMap((section: any) => section.questions.map(({ text }: any) => text));
      const asked = questions.filter(({ text }) => shown.includes(text));
      const answers = asked.map((question) => ({ questionId: question.id, numberValue: 9 }));
      const path = `/responses/surveys/${id}/submit`;
      const { status, body } = await respondent().call('POST', path, { body: { answers, ...given } });
      return [language, title, ...shown, status, body.data?.ignored];
    };
    assert.deepEqual(await takenAs({ ...french }), ['fr', 'Séjour', 'for French', 201, undefined]);
    assert.deepEqual(await takenAs({ ...german }), ['en', 'Stay', 'for German', 201, undefined]);
    assert.deepEqual(await takenAs({ ...named, language: 'en' }), ['en', 'Stay', 'for English', 201, undefined]);
    const [standard] = await admin.get(`/surveys/${id}/collectors`);
    await admin.put(`/collectors/${standard.id}`, { language: 'fr' });
    assert.deepEqual(await takenAs({}), ['fr', 'Séjour', 'for French', 201, undefined]);
    const link = await admin.create(`/surveys/${id}/collectors`, { name: 'Link', language: 'de' });
    assert.deepEqual(await takenAs({ collectorId: link.id }), ['en', 'Stay', 'for German', 201, undefined]);
    // An anonymous survey takes nothing of the invitation, and the language of the collector instead.
    const secret = await admin.create('/surveys', { title: 'Secret', status: 'ACTIVE', isAnonymous: true });
    await admin.create(`/surveys/${secret.id}/questions`, ask('for French', 'fr'));
    await admin.create(`/surveys/${secret.id}/questions`, { ...ask('for German', 'de'), isRequired: false });
    const list = await admin.create(`/surveys/${secret.id}/collectors`, fields);
    const [anonymous] = await makeInvitations(service, admin, list.id, [{ language: 'fr' }]);
    const invited = { answers: [], invitation: anonymous?.token };
    const { sections } = await pathFor(secret.id, invited);
    assert.deepEqual(
      sections[0].questions.map(({ text }: any) => text),
      ['for German'],
    );
    const path = `/responses/surveys/${secret.id}/submit`;
    assert.equal((await respondent().call('POST', path, { body: invited })).status, 201);
    const elsewhere = await respondent().call('POST', `/public/surveys/${id}/path`, {
      body: { answers: [], collectorId: randomUUID() },
    });
    assert.deepEqual([elsewhere.status, elsewhere.body.details[0].path], [400, 'collectorId']);
  });

  it('is what a client computes of GET /public/surveys/{id}', async () => {
    const survey = await open();
    const { id, questions } = survey;
    const { body } = await respondent().call('GET', `/public/surveys/${id}`);
    assertConforms('GET /public/surveys/{id}', {
      status: 200,
      headers: (await respondent().call('GET', `/public/surveys/${id}`)).headers,
      body,
    });
    const definition = body.data;
    assert.ok(!JSON.stringify(definition).includes('"value"'), 'stored values stay hidden');
    const compiled = compilePaths(definition);
    const responseId = randomUUID();
    for (const answers of [
      [],
      choose(questions.breakfast, 0),
      [...choose(questions.breakfast, 0), ...choose(questions.dishes, 1, 2)],
    ]) {
      const computed = pathOf(compiled, givenAnswers(compiled, answers), {
        responseId,
        surveyLanguage: definition.language,
      });
      const given = await pathFor(id, { answers, responseId });
      assert.deepEqual(
        {
          sections: given.sections.map((section: any) => ({
            id: section.id,
            questions: section.questions.map((question: any) => ({
              id: question.id,
              optionIds: question.options.map((option: any) => option.id),
              rowIds: (question.settings.rows ?? []).map((row: any) => row.id),
              isRequired: question.isRequired,
            })),
          })),
          next: given.next,
          outcome: given.outcome,
          progress: given.progress,
        },
        computed,
      );
    }
    assert.equal(definition.version, (await admin.get(`/surveys/${id}`)).version);
  });

  it('speaks the language of the respondent', async () => {
    const survey = await open();
    const { id, questions } = survey;
    const { breakfast, dishes, why } = questions;
    await admin.put(`/surveys/${id}/translations/de`, {
      title: 'Ihr Aufenthalt',
      sections: [{ id: survey.sections.stay.id, title: 'Aufenthalt' }],
      questions: [
        {
          id: dishes.id,
          options: [
            { id: dishes.options[1].id, text: 'Brot' },
            { id: dishes.options[2].id, text: 'Obst' },
          ],
        },
        { id: why.id, text: `Warum {{question:${dishes.id}}}?` },
      ],
    });
    const path = await pathFor(id, {
      answers: [...choose(breakfast, 0), ...choose(dishes, 1, 2)],
      language: 'de-AT',
    });
    assert.deepEqual([path.language, path.direction, path.title], ['de', 'ltr', 'Ihr Aufenthalt']);
    assert.equal(path.sections[1].title, 'Aufenthalt');
    assert.equal(path.sections.at(-1).questions[0].text, 'Warum Brot und Obst?');
    assert.equal((await pathFor(id, { answers: [], language: 'fr' })).language, 'en');
  });

  it('takes answers of every type, and stores nothing', async () => {
    const full = await createFullSurvey(admin);
    const answers = answersOf(full, 1);
    const path = await pathFor(full.id, { answers, responseId: randomUUID() });
    assert.equal(path.sections.length, 1);
    assert.deepEqual(
      path.sections[0].questions.map(({ type }: any) => type),
      Object.values(full.questions).map(({ type }: any) => type),
    );
    assert.equal(path.outcome, 'COMPLETE');
    assert.equal((await admin.get(`/surveys/${full.id}`)).responseCount, 0);
  });

  it('does not know answers that nobody can give', async () => {
    const survey = await open();
    const { breakfast, dishes, best, name, again } = survey.questions;
    for (const answers of [
      choose(dishes, 0),
      [{ questionId: breakfast.id, optionId: randomUUID() }],
      [{ questionId: breakfast.id, numberValue: 1 }],
      [{ questionId: randomUUID(), textValue: 'x' }],
      [{ questionId: name.id, numberValue: 1 }],
      choose(best, 0),
    ]) {
      const path = await pathFor(survey.id, { answers });
      assert.deepEqual(
        namesOf(survey, path),
        ['name', 'breakfast', 'rooms', 'best', 'why', 'again'],
        JSON.stringify(answers),
      );
      assert.deepEqual([path.next, path.progress], [name.id, 0]);
    }
    // An option that is not offered is no answer, and what depends on it is not asked.
    const path = await pathFor(survey.id, {
      answers: [...choose(breakfast, 0), ...choose(dishes, 1), ...choose(best, 0)],
    });
    assert.equal(path.next, survey.questions.rooms.id);
    assert.ok(again);
  });

  it('does not count answers that a submission would be refused for', async () => {
    const { id } = await admin.create('/surveys', { title: 'Wrong answers' });
    const add = (type: string, more: object = {}) =>
      admin.create(`/surveys/${id}/questions`, { type, text: type, isRequired: true, ...more });
    const options = ['a', 'b', 'c'].map((text) => ({ text }));
    const [rating, date, email, boxes, amount, single, text, ranked] = [
      await add('RATING_SCALE'),
      await add('DATE'),
      await add('EMAIL'),
      await add('CHECKBOXES', { options, settings: { minSelections: 2, maxSelections: 2 } }),
      await add('NUMBER', { settings: { min: 0 } }),
      await add('MULTIPLE_CHOICE', { options }),
      await add('SHORT_TEXT', { settings: { maxLength: 3 } }),
      await add('RANKING', { options }),
    ];
    await admin.post(`/surveys/${id}/publish`);
    const rank = (place: number, at: number) => ({ ...choose(ranked, place)[0], rank: at });
    const wrong = [
      [{ questionId: rating.id, numberValue: 99 }],
      [{ questionId: date.id, textValue: 'soon' }],
      [{ questionId: email.id, textValue: 'nobody' }],
      choose(boxes, 0, 1, 2),
      choose(boxes, 0),
      [{ questionId: amount.id, numberValue: -500 }],
      [{ questionId: single.id, textValue: 'another' }],
      choose(single, 0, 1),
      [{ questionId: text.id, textValue: 'long' }],
      [rank(0, 1), rank(1, 1)],
    ];
    const right = [
      { questionId: rating.id, numberValue: 3 },
      { questionId: date.id, textValue: '2026-01-31' },
      { questionId: email.id, textValue: 'a@example.org' },
      ...choose(boxes, 0, 2),
      { questionId: amount.id, numberValue: 0 },
      ...choose(single, 1),
      { questionId: text.id, textValue: 'abc' },
      rank(0, 2),
      rank(1, 1),
    ];
    assert.equal((await pathFor(id, { answers: right })).outcome, 'COMPLETE');
    for (const answers of wrong) {
      const { outcome, progress, next } = await pathFor(id, { answers });
      assert.deepEqual([outcome, progress, next], ['OPEN', 0, rating.id], JSON.stringify(answers));
      const others = right.filter(({ questionId }) => questionId !== answers[0]?.questionId);
      const most = await pathFor(id, { answers: [...others, ...answers] });
      assert.deepEqual([most.outcome, most.progress], ['OPEN', 7 / 8], JSON.stringify(answers));
      assert.equal((await admin.submit(id, { answers: [...others, ...answers] })).status, 400);
    }
  });

  it('does not count answers that choose too little of what is offered, and what follows from them', async () => {
    const { id } = await admin.create('/surveys', { title: 'Too few' });
    const add = (type: string, more: object) => admin.create(`/surveys/${id}/questions`, { type, text: type, ...more });
    const all = await add('YES_NO', {});
    const visibleIf = { questionId: all.id, operator: 'isAnyOf', optionIds: [all.options[0].id] };
    const labels = ['a', 'b', 'c'].map((text) => ({ text }));
    const boxes = { isRequired: true, settings: { minSelections: 2 } };
    const options = [...labels.slice(0, 2), { ...labels[2], visibleIf }];
    const first = await add('CHECKBOXES', { ...boxes, options });
    const optionsFrom = { questionId: first.id, which: 'selected' };
    const second = await add('CHECKBOXES', { ...boxes, options: labels, optionsFrom });
    const why = await add('SHORT_TEXT', { visibleIf: { questionId: second.id, operator: 'answered' } });
    await admin.post(`/surveys/${id}/publish`);
    const judged = async (...answers: object[]) => {
      const { sections, outcome, next } = await pathFor(id, { answers });
      const ids = sections.flatMap(({ questions }: any) => questions.map((question: any) => question.id));
      const { status } = await admin.submit(id, { answers });
      return [ids.slice(1), outcome, next, status];
    };
    const [yes, no] = [choose(all, 0), choose(all, 1)];
    assert.deepEqual(await judged(...yes, ...choose(first, 0)), [[first.id], 'OPEN', first.id, 400]);
    // Hidden options do not count, and those that are not offered need not be chosen.
    assert.deepEqual(await judged(...no, ...choose(first, 0, 2)), [[first.id], 'OPEN', first.id, 400]);
    const both = choose(first, 0, 1);
    assert.deepEqual(await judged(...yes, ...both, ...choose(second, 0)), [
      [first.id, second.id],
      'OPEN',
      second.id,
      400,
    ]);
    const enough = [...yes, ...both, ...choose(second, 0, 1)];
    assert.deepEqual(await judged(...enough), [[first.id, second.id, why.id], 'OPEN', why.id, 201]);
    // What is chosen of an answer that does not count is not on the path either.
    const chain = [...yes, ...choose(first, 0), ...choose(second, 0)];
    assert.deepEqual(await judged(...chain), [[first.id], 'OPEN', first.id, 400]);
  });

  it('refuses misshapen bodies', async () => {
    const { id, questions } = await open();
    const answer = { questionId: questions.name.id, textValue: 'x' };
    for (const [body, path] of [
      [{}, 'answers'],
      [[], ''],
      [{ answers: {} }, 'answers'],
      [{ answers: [5] }, 'answers.0'],
      [{ answers: [{ questionId: questions.name.id }] }, 'answers.0'],
      [{ answers: [{ ...answer, optionId: 'x' }] }, 'answers.0'],
      [{ answers: [{ ...answer, other: 1 }] }, 'answers.0.other'],
      [{ answers: Array.from({ length: 5001 }, () => ({ questionId: 'q', textValue: 'x' })) }, 'answers'],
      [{ answers: [], responseId: 'x' }, 'responseId'],
      [{ answers: [], language: 'not a tag' }, 'language'],
      [{ answers: [], metadata: { a: 1 } }, 'metadata.a'],
      [{ answers: [], metadata: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, 'v'])) }, 'metadata'],
      [{ answers: [], invitation: 'x'.repeat(201) }, 'invitation'],
      [{ answers: [], isComplete: true }, 'isComplete'],
    ] as const) {
      const { status, body: said } = await postPath(id, body);
      assert.deepEqual([status, said.details?.[0].path], [400, path], JSON.stringify(body).slice(0, 200));
    }
    assert.equal((await postPath(id, '{"answers":[')).status, 400);
    assert.equal((await postPath(id, '{"answers":[]}', { 'content-type': 'text/plain' })).status, 415);
  });

  it('is there for whom the survey is open', async () => {
    const { id } = await hotelSurvey(admin, { visibility: 'PRIVATE' });
    const { accessToken } = await admin.get(`/surveys/${id}`);
    const statusOf = async (headers: Record<string, string> = {}) =>
      (await postPath(id, { answers: [] }, headers)).status;
    const withToken = { 'x-survey-token': accessToken };
    assert.equal(await statusOf(withToken), 404);
    await admin.post(`/surveys/${id}/publish`);
    assert.deepEqual([await statusOf(withToken), await statusOf()], [200, 404]);
    await admin.put(`/surveys/${id}`, { status: 'PAUSED' });
    assert.equal(await statusOf(withToken), 404);
    for (const unknown of [randomUUID(), 'x']) assert.equal((await postPath(unknown, { answers: [] })).status, 404);
  });

  it('answers in bounded time and length, whatever placeholders insert', async () => {
    const { id } = await admin.create('/surveys', { title: 'Long', status: 'ACTIVE' });
    const text = '{{metadata:a|-}}'.repeat(125);
    for (let n = 0; n < 60; n += 1) await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text });
    const reply = await respondent().call('POST', `/public/surveys/${id}/path`, {
      body: { answers: [], metadata: { a: 'x'.repeat(1000) } },
    });
    assert.equal(reply.status, 200);
    const length = JSON.stringify(reply.body).length;
    assert.ok(length > 256 * 1024 && length < 300_000, String(length));
    assert.equal(reply.body.data.sections[0].questions.at(-1).text, '-'.repeat(125));
  });
});
