import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { type HotelSurvey, hotelSurvey } from '../support/hotel-survey.ts';
import { useService } from '../support/use-service.ts';

let admin: Client;
useService((served) => {
  ({ admin } = served);
});

/** Status, code and, for a refusal, the path of the first issue or the reason. */
async function refusalOf(method: string, path: string, body?: unknown) {
  const { status, body: said } = await admin.call(method, path, body === undefined ? {} : { body });
  return [status, said.code, Array.isArray(said.details) ? said.details[0].path : said.details?.reason];
}

/** The paths of what a refused change would break. */
async function brokenBy(method: string, path: string, body?: unknown): Promise<string[]> {
  const { status, body: said } = await admin.call(method, path, body === undefined ? {} : { body });
  assert.deepEqual(
    [status, said.code, said.details?.reason],
    [409, 'CONFLICT', 'CONDITION_BROKEN'],
    JSON.stringify(said),
  );
  for (const { kind, path: at, message } of said.details.broken)
    assert.ok(kind && at && message, JSON.stringify(said.details.broken));
  return said.details.broken.map((broken: any) => broken.path);
}

const questionOf = async ({ id }: HotelSurvey, questionId: string) =>
  (await admin.get(`/surveys/${id}`)).questions.find((question: any) => question.id === questionId);

describe('conditions, skips and placeholders', () => {
  it('are shown as they were given, and taken away by null and an empty list', async () => {
    const survey = await hotelSurvey(admin);
    const { breakfast, dishes, why } = survey.questions;
    assert.deepEqual(dishes.visibleIf, {
      questionId: breakfast.id,
      operator: 'isAnyOf',
      optionIds: [breakfast.options[0].id],
    });
    assert.deepEqual(await questionOf(survey, dishes.id), dishes);
    const eggs = dishes.options[0];
    const changed = await admin.put(`/surveys/questions/${dishes.id}`, {
      visibleIf: null,
      options: [{ ...eggs, visibleIf: { language: ['en'] }, isAnchored: true }, ...dishes.options.slice(1)],
    });
    assert.equal(changed.visibleIf, null);
    assert.deepEqual(changed.options[0], { ...eggs, visibleIf: { language: ['en'] }, isAnchored: true });
    // What is left out stays.
    const kept = await admin.put(`/surveys/questions/${dishes.id}`, {
      options: changed.options.map(({ id, text }: any) => ({ id, text })),
    });
    assert.deepEqual(kept.options, changed.options);
    const bare = await admin.put(`/surveys/questions/${dishes.id}`, {
      options: kept.options.map(({ id, text }: any) => ({ id, text, visibleIf: null, isAnchored: false })),
    });
    assert.deepEqual(bare.options, dishes.options);
    assert.equal((await admin.put(`/surveys/questions/${why.id}`, { skips: [] })).skips.length, 0);
    assert.equal((await admin.put(`/surveys/questions/${why.id}`, { isAnchored: true })).isAnchored, true);
  });

  it('make versions, and bits for what is not asked', async () => {
    const { id } = await admin.create('/surveys', { title: 'Plain', status: 'ACTIVE' });
    const first = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'First?' });
    const second = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Second?' });
    const { version } = await admin.get(`/surveys/${id}`);
    const condition = { questionId: first.id, operator: 'answered' };
    for (const [visibleIf, changes] of [
      [condition, 1],
      [condition, 1],
      [null, 2],
    ] as const) {
      await admin.put(`/surveys/questions/${second.id}`, { visibleIf });
      assert.equal((await admin.get(`/surveys/${id}`)).version, version + changes);
    }
    // Rows are wider now, and take answers as before.
    assert.equal(
      (await admin.submit(id, { answers: [{ questionId: second.id, optionId: second.options[0].id }] })).status,
      201,
    );
  });

  it('are refused by the path of what they name wrongly', async () => {
    const { id, sections, questions } = await hotelSurvey(admin);
    const { breakfast, dishes, why } = questions;
    const other = await hotelSurvey(admin);
    const put = (body: unknown) => refusalOf('PUT', `/surveys/questions/${dishes.id}`, body);
    const leaf = { questionId: breakfast.id, operator: 'isAnyOf', optionIds: [breakfast.options[0].id] };
    const deep = (levels: number): unknown => (levels === 1 ? leaf : { not: deep(levels - 1) });
    for (const [body, path] of [
      [{ visibleIf: 'x' }, 'visibleIf'],
      [{ visibleIf: {} }, 'visibleIf'],
      [{ visibleIf: { all: [] } }, 'visibleIf.all'],
      [{ visibleIf: { any: [leaf, { ...leaf, operator: 'is' }] } }, 'visibleIf.any.1.operator'],
      [{ visibleIf: { ...leaf, optionIds: [] } }, 'visibleIf.optionIds'],
      [{ visibleIf: { ...leaf, optionIds: [dishes.options[0].id] } }, 'visibleIf.optionIds.0'],
      [{ visibleIf: { ...leaf, operator: 'includesAny' } }, 'visibleIf.operator'],
      [{ visibleIf: { ...leaf, questionId: other.questions.breakfast.id } }, 'visibleIf.questionId'],
      [{ visibleIf: { questionId: dishes.id, operator: 'answered' } }, 'visibleIf.questionId'],
      [{ visibleIf: { not: { questionId: why.id, operator: 'answered' } } }, 'visibleIf.not.questionId'],
      [{ visibleIf: deep(6) }, 'visibleIf.not.not.not.not.not'],
      [{ visibleIf: { all: Array.from({ length: 51 }, () => leaf) } }, 'visibleIf.all'],
      [{ visibleIf: { all: [{ all: Array.from({ length: 50 }, () => leaf) }, leaf] } }, 'visibleIf'],
      [{ skips: [{ if: leaf, to: breakfast.id }] }, 'skips.0.to'],
      [{ skips: [{ if: leaf, to: 'NOWHERE' }] }, 'skips.0.to'],
      [{ skips: [{ if: leaf, to: 'END' }, { if: leaf }] }, 'skips.1.to'],
      [{ skips: [{ if: { questionId: why.id, operator: 'answered' }, to: 'END' }] }, 'skips.0.if.questionId'],
      [{ skips: { if: leaf, to: 'END' } }, 'skips'],
      [{ optionsFrom: { questionId: why.id, which: 'selected' } }, 'optionsFrom.questionId'],
      [{ optionsFrom: { questionId: breakfast.id, which: 'some' } }, 'optionsFrom.which'],
      [{ text: `So {{question:${why.id}}}?` }, 'text'],
      [{ text: 'So {{question:}}?' }, 'text'],
      [
        { options: [{ text: 'Eggs', visibleIf: { questionId: why.id, operator: 'answered' } }] },
        'options.0.visibleIf.questionId',
      ],
      [{ options: [{ text: 'Eggs', isAnchored: 1 }] }, 'options.0.isAnchored'],
      [{ visibleIf: { ...leaf, hidden: true } }, 'visibleIf.hidden'],
    ] as const)
      assert.deepEqual(await put(body), [400, 'VALIDATION_ERROR', path], JSON.stringify(body));
    assert.equal(
      (await admin.call('PUT', `/surveys/questions/${dishes.id}`, { body: { visibleIf: deep(5) } })).status,
      200,
    );
    assert.deepEqual(
      await refusalOf('PUT', `/surveys/${id}/sections/${sections.stay.id}`, { visibleIf: leaf }),
      [400, 'VALIDATION_ERROR', 'visibleIf.questionId'],
      'a section may not depend on what it holds',
    );
    assert.deepEqual(await refusalOf('PUT', `/surveys/${id}`, { title: `{{question:${breakfast.id}}}` }), [
      400,
      'VALIDATION_ERROR',
      'title',
    ]);
    assert.deepEqual(await refusalOf('POST', '/surveys', { title: 'Hello {{metadata:}}' }), [
      400,
      'VALIDATION_ERROR',
      'title',
    ]);
    assert.equal(
      (await admin.create('/surveys', { title: 'Hello {{metadata:name|you}}' })).title,
      'Hello {{metadata:name|you}}',
    );
  });

  it('with two thousand leaves are the most that a survey may have', async () => {
    const { id } = await admin.create('/surveys', { title: 'Leaves' });
    const { id: questionId } = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'First?' });
    const all = Array.from({ length: 50 }, () => ({ questionId, operator: 'answered' }));
    const skips = Array.from({ length: 40 }, () => ({ if: { all }, to: 'END' }));
    const path = `/surveys/questions/${questionId}`;
    assert.equal((await admin.call('PUT', path, { body: { skips } })).status, 200);
    assert.deepEqual(await refusalOf('PUT', path, { skips: [...skips, { if: { all: all.slice(0, 1) }, to: 'END' }] }), [
      400,
      'VALIDATION_ERROR',
      '',
    ]);
  });
});

describe('a change that breaks what names something', () => {
  it('is refused with the list of what it would break, whatever the change', async () => {
    const survey = await hotelSurvey(admin);
    const { id, sections, questions } = survey;
    const { breakfast, dishes, best, why, rooms } = questions;
    const start = await admin.get(`/surveys/${id}`);
    const [dishesIf, bestFrom, whyText, whySkip, roomsRow] = [
      `questions.${dishes.id}.visibleIf`,
      `questions.${best.id}.optionsFrom`,
      `questions.${why.id}.text`,
      `questions.${why.id}.skips.0`,
      `questions.${rooms.id}.settings.rows.1.visibleIf`,
    ];
    const question = (each: any) => `/surveys/questions/${each.id}`;
    // Deletion of a question, an option and a row.
    assert.deepEqual(await brokenBy('DELETE', `/surveys/${id}/questions/${breakfast.id}`), [
      `${dishesIf}.questionId`,
      `${roomsRow}.questionId`,
    ]);
    assert.deepEqual(await brokenBy('PUT', question(dishes), { options: dishes.options.slice(1) }), [
      `${whySkip}.if.optionIds.0`,
    ]);
    assert.deepEqual(await brokenBy('PUT', question(rooms), { settings: { rows: rooms.settings.rows.slice(1) } }), [
      `sections.${sections.after.id}.visibleIf.not.rowId`,
    ]);
    // Another type.
    assert.deepEqual(await brokenBy('PUT', question(breakfast), { type: 'NPS' }), [
      `${dishesIf}.operator`,
      `${roomsRow}.operator`,
    ]);
    assert.deepEqual(await brokenBy('PUT', question(dishes), { type: 'SHORT_TEXT' }), [
      `${bestFrom}.questionId`,
      `${whySkip}.if.operator`,
    ]);
    // Moves: of the question, of those after it, of its section, of all.
    assert.deepEqual(await brokenBy('PUT', question(dishes), { sectionId: sections.after.id }), [
      `${bestFrom}.questionId`,
      `${whySkip}.if.questionId`,
      whyText,
    ]);
    assert.deepEqual(await brokenBy('PUT', question(best), { sectionId: null }), [`${bestFrom}.questionId`]);
    const reversed = [sections.after.id, sections.stay.id];
    const byReorder = await brokenBy('POST', `/surveys/${id}/sections/reorder`, { sectionIds: reversed });
    assert.ok(byReorder.includes(`sections.${sections.after.id}.visibleIf.not.questionId`), String(byReorder));
    assert.ok(byReorder.includes(whyText), String(byReorder));
    assert.deepEqual(await brokenBy('PUT', `/surveys/${id}/sections/${sections.after.id}`, { order: 0 }), byReorder);
    const ids = start.questions.map((each: any) => each.id);
    const swapped = ids.map((each: string) =>
      each === breakfast.id ? dishes.id : each === dishes.id ? breakfast.id : each,
    );
    assert.deepEqual(await brokenBy('POST', `/surveys/${id}/questions/reorder`, { questionIds: swapped }), [
      `${dishesIf}.questionId`,
    ]);
    // Shuffling of what depends on each other, and deletion of a section that a skip names.
    const byShuffle = await brokenBy('PUT', `/surveys/${id}/sections/${sections.stay.id}`, { isShuffled: true });
    assert.ok(byShuffle.includes(`${dishesIf}.questionId`), String(byShuffle));
    const bySurvey = await brokenBy('PUT', `/surveys/${id}`, { isShuffled: true });
    assert.ok(bySurvey.includes(`sections.${sections.after.id}.visibleIf.not.questionId`), String(bySurvey));
    await admin.put(question(breakfast), {
      skips: [{ if: { questionId: breakfast.id, operator: 'answered' }, to: sections.after.id }],
    });
    assert.deepEqual(await brokenBy('DELETE', `/surveys/${id}/sections/${sections.after.id}`), [
      `questions.${breakfast.id}.skips.0.to`,
    ]);
    const end = await admin.get(`/surveys/${id}`);
    assert.deepEqual(
      [end.version, end.sections],
      [start.version + 1, start.sections],
      'a refused change changes nothing',
    );
  });

  it('can be asked about before a question is deleted', async () => {
    const { id, questions } = await hotelSurvey(admin);
    const { breakfast, why } = questions;
    const answer = `{{question:${breakfast.id}|that}}`;
    await admin.put(`/surveys/${id}`, { appearance: { closingText: `Thanks for ${answer}!` } });
    await admin.put(`/surveys/${id}/translations/de`, { questions: [{ id: why.id, text: `Warum ${answer}?` }] });
    const where = { questionId: breakfast.id, operator: 'isAnyOf', optionIds: [breakfast.options[0].id] };
    await admin.create(`/surveys/${id}/quotas`, { name: 'Eaters', limit: 5, where, whenFull: 'CLOSE' });
    const path = `/surveys/${id}/questions/${breakfast.id}`;
    const { broken: references } = await admin.get(`${path}/references`);
    assert.deepEqual(
      references.map(({ kind, language, quotaName }: any) => quotaName ?? language ?? kind),
      ['closingText', 'visibleIf', 'visibleIf', 'de', 'Eaters'],
    );
    assert.deepEqual(references, (await admin.call('DELETE', path)).body.details.broken);
    await admin.remove(`${path}?removeConditions=true`);
    assert.equal((await admin.call('GET', `${path}/references`)).status, 404);
    assert.deepEqual((await admin.get(`/surveys/${id}/questions/${why.id}/references`)).broken, []);
  });

  it('takes along what it breaks where that is asked for', async () => {
    const survey = await hotelSurvey(admin);
    const { id, questions } = survey;
    const { breakfast, dishes, best, why, rooms } = questions;
    await admin.put(`/surveys/${id}/translations/de`, {
      questions: [{ id: why.id, text: `Warum {{question:${dishes.id}|das}}?` }],
    });
    await admin.remove(`/surveys/${id}/questions/${dishes.id}?removeConditions=true`);
    const after = await questionOf(survey, why.id);
    assert.deepEqual([after.text, after.skips], ['Why that?', []]);
    assert.equal((await questionOf(survey, best.id)).optionsFrom, null);
    const german = await admin.get(`/surveys/${id}/translations/de`);
    assert.equal(german.questions[0].text, 'Warum das?');
    await admin.call('PUT', `/surveys/questions/${breakfast.id}?removeConditions=true`, { body: { type: 'NPS' } });
    assert.equal((await questionOf(survey, breakfast.id)).type, 'NPS');
    assert.equal('visibleIf' in (await questionOf(survey, rooms.id)).settings.rows[1], false);
    await admin.call('PUT', `/surveys/${id}?removeConditions=true`, { body: { isShuffled: true } });
    const { sections, isShuffled } = await admin.get(`/surveys/${id}`);
    assert.deepEqual([isShuffled, sections[1].visibleIf], [true, null]);
    assert.equal(
      (await admin.call('PUT', `/surveys/${id}?removeConditions=yes`, { body: { title: 'x' } })).status,
      400,
    );
  });

  it('is refused for placeholders of translations too', async () => {
    const { id, questions } = await hotelSurvey(admin);
    const { breakfast, why, best } = questions;
    const put = (text: string) =>
      admin.call('PUT', `/surveys/${id}/translations/de`, { body: { questions: [{ id: why.id, text }] } });
    const { status, body } = await put(`Warum {{question:${best.id}}}, {{question:unknown}}?`);
    assert.deepEqual([status, body.details[0].path], [400, 'questions.0.text']);
    assert.equal((await put(`Warum {{question:${breakfast.id}}}?`)).status, 200);
    const broken = await brokenBy('DELETE', `/surveys/${id}/questions/${breakfast.id}`);
    assert.equal(broken.at(-1), `translations.de.${why.id}.text`);
  });
});

describe('a copy of a survey with conditions', () => {
  it('has them about its own questions', async () => {
    const { id, questions, sections } = await hotelSurvey(admin);
    await admin.put(`/surveys/${id}/translations/de`, {
      questions: [{ id: questions.why.id, text: `Warum {{question:${questions.dishes.id}|das}}?` }],
    });
    const source = await admin.get(`/surveys/${id}`);
    const copy = await admin.create(`/surveys/${id}/duplicate`);
    const oldIds = [source.sections, source.questions]
      .flat()
      .flatMap((item: any) => [item, ...(item.options ?? []), ...(item.settings?.rows ?? [])].map((each) => each.id));
    const newIds = [copy.sections, copy.questions]
      .flat()
      .flatMap((item: any) => [item, ...(item.options ?? []), ...(item.settings?.rows ?? [])].map((each) => each.id));
    assert.equal(oldIds.length, newIds.length);
    const names = new Map(oldIds.map((old: string, index: number) => [old, newIds[index]]));
    const renamed = JSON.parse(
      JSON.stringify({ sections: source.sections, questions: source.questions }).replace(
        /[0-9a-f]{8}-[0-9a-f-]{27}/g,
        (found) => (found === id ? copy.id : (names.get(found) ?? found)),
      ),
    );
    assert.deepEqual({ sections: copy.sections, questions: copy.questions }, renamed);
    const german = await admin.get(`/surveys/${copy.id}/translations/de`);
    assert.equal(german.questions[0].text, `Warum {{question:${names.get(questions.dishes.id)}|das}}?`);
    assert.deepEqual(german.stale, [], 'what was up to date stays so');
    assert.ok(!JSON.stringify(copy).includes(sections.stay.id));
  });
});
