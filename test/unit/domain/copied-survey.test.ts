import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { copySurvey } from '../../../src/domain/copied-survey.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { addQuestion, editQuestion, hideQuestion } from '../../../src/domain/survey-edits.ts';
import { checkPaths } from '../../../src/domain/survey-paths/path-checks.ts';
import { copyStrings, renamedWordings, sourceStrings } from '../../../src/domain/translation/translation.ts';
import { runAtOnce, type SlicedWork } from '../../../src/platform/slices.ts';
import { blankSurvey, nextId } from '../../support/questions.ts';

const copying = (source: SurveyWithQuestions, newId = nextId) =>
  copySurvey(source, {
    id: nextId(),
    ownerId: nextId(),
    title: undefined,
    accessToken: '',
    nowMs: 0,
    newId,
    hasLogo: false,
  });
const copyOf = (source: SurveyWithQuestions) => runAtOnce(copying(source));

const named = (...texts: string[]) => texts.map((text) => ({ text }));
const add = (survey: SurveyWithQuestions, body: Parameters<typeof addQuestion>[1], id = nextId()) =>
  addQuestion(survey, body, { id, newId: nextId });
const edit = (survey: SurveyWithQuestions, id: string, body: Parameters<typeof editQuestion>[2]) =>
  editQuestion(survey, id, body, { isAnswered: false, newId: nextId });
const question = (survey: SurveyWithQuestions, place: number) => {
  const found = survey.questions[place];
  assert.ok(found);
  return found;
};

describe('a copy of a survey that was edited', () => {
  it('takes further questions where removed ones have used up the positions of the original', () => {
    const rows = named(...Array.from({ length: 200 }, (_, row) => `row ${row}`));
    const grid = { type: 'MATRIX' as const, text: 'How?', options: named('Good', 'Bad'), settings: { rows } };
    let source = blankSurvey();
    for (let round = 0; round < 5; round += 1) {
      const id = nextId();
      source = hideQuestion(add(source, grid, id), id);
    }
    assert.throws(() => add(source, { type: 'NPS', text: 'Again?' }), { code: 'VALIDATION_ERROR' });
    const { copy } = copyOf(source);
    assert.deepEqual(copy.slotCounts, { codes: 0, numbers: 0, texts: 0 });
    assert.equal(add(copy, grid).slotCounts.codes, 200);
  });

  it('takes further questions where replaced options have used up the positions of the original', () => {
    const items = (round: number) => named(...Array.from({ length: 96 }, (_, place) => `${round} ${place}`));
    const rows = named(...Array.from({ length: 40 }, (_, row) => `row ${row}`));
    const [grid, boxes] = ['grid', 'boxes'];
    const settings = { multiple: true, rows };
    let source = add(blankSurvey(), { type: 'MATRIX', text: 'Which?', options: items(0), settings }, grid);
    source = add(source, { type: 'CHECKBOXES', text: 'Which?', options: items(0) }, boxes);
    for (let round = 1; round < 4; round += 1) {
      source = edit(source, grid, { options: items(round) });
      source = edit(source, boxes, { options: items(round) });
    }
    assert.equal(source.slotCounts.codes, 984);
    assert.throws(() => edit(source, grid, { options: items(4) }), { code: 'VALIDATION_ERROR' });
    assert.equal(copyOf(source).copy.slotCounts.codes, 41 * 6);
  });

  it('has positions for what is left of its questions alone, and names the same', () => {
    const [ranking, grid, text, gone] = ['ranking', 'grid', 'text', 'gone'];
    let source: SurveyWithQuestions = {
      ...blankSurvey(),
      collectorSlot: 0,
      slotCounts: { codes: 1, numbers: 0, texts: 0 },
    };
    source = add(source, { type: 'SHORT_TEXT', text: 'Removed' }, gone);
    source = add(source, { type: 'NUMBER', text: 'Which?' }, ranking);
    source = edit(source, ranking, { type: 'RANKING', options: named('A', 'B', 'C', 'D') });
    const rows = named('x', 'y', 'z');
    source = add(source, { type: 'MATRIX', text: 'How?', options: named('Good', 'Bad'), settings: { rows } }, grid);
    source = add(source, { type: 'SHORT_TEXT', text: 'Why?' }, text);
    source = edit(source, ranking, { options: named('D', 'B') });
    source = edit(source, grid, { settings: { rows: named('z', 'y') } });
    source = hideQuestion(source, gone);
    const [first] = question(source, 0).options;
    const [row] = question(source, 1).rows;
    const where = { questionId: ranking, operator: 'rankedAtMost' as const, optionId: first?.id ?? '', rank: 1 };
    source = edit(source, text, {
      text: `Why {{question:${grid}:row:${row?.id}}}?`,
      visibleIf: { all: [where, { questionId: grid, rowId: row?.id ?? '', operator: 'answered' }] },
    });
    const quota = { id: 'quota', code: 4, name: 'D', limit: 1, counts: 'COMPLETED', whenFull: 'CLOSE' } as const;
    source = { ...source, quotas: [{ ...quota, where, isActive: true, version: 3 }] };

    const { copy, newIds } = copyOf(source);
    assert.deepEqual(checkPaths(copy), []);
    assert.deepEqual(
      copy.questions.map(({ type, options, rows, slots, notAsked }) => ({
        type,
        items: [...options, ...rows].map(({ value }) => value),
        codes: Object.values(slots.codes),
        notAsked: Object.values(notAsked ?? {}),
      })),
      [
        { type: 'RANKING', items: ['d', 'b'], codes: [0, 1], notAsked: [80] },
        { type: 'MATRIX', items: ['good', 'bad', 'z', 'y'], codes: [2, 3], notAsked: [81] },
        { type: 'SHORT_TEXT', items: [], codes: [4], notAsked: [82] },
      ],
    );
    assert.deepEqual([copy.slotCounts, copy.collectorSlot], [{ codes: 6, numbers: 0, texts: 1 }, null]);
    const [copiedRanking, copiedGrid, copiedText] = copy.questions;
    const copiedWhere = { ...where, questionId: copiedRanking?.id, optionId: copiedRanking?.options[0]?.id };
    const copiedRow = copiedGrid?.rows[0]?.id;
    assert.deepEqual(copiedText?.visibleIf, {
      all: [copiedWhere, { questionId: copiedGrid?.id, rowId: copiedRow, operator: 'answered' }],
    });
    assert.equal(copiedText?.text, `Why {{question:${copiedGrid?.id}:row:${copiedRow}}}?`);
    assert.deepEqual(copy.quotas?.[0]?.where, copiedWhere);
    // As an import has them.
    assert.deepEqual(
      [copiedRanking, copiedGrid].map((each) =>
        [...(each?.options ?? []), ...(each?.rows ?? [])].map(({ code }) => code),
      ),
      [
        [1, 2],
        [1, 2, 1, 2],
      ],
    );
    assert.equal(newIds.has(gone), false);
  });
});

describe('a copy of a large translated survey', () => {
  const hashOf = (text: string) => `#${text}`;
  const large = (): SurveyWithQuestions => {
    const first = nextId();
    let survey = add(blankSurvey(), { type: 'SHORT_TEXT', text: 'Your name?' }, first);
    for (let n = 0; n < 10; n += 1) {
      const options = named(
        ...Array.from({ length: 100 }, (_, place) => `Choice ${place} of {{question:${first}|you}}`),
      );
      survey = add(survey, { type: 'CHECKBOXES', text: `Which of list ${n}?`, options });
    }
    return survey;
  };
  /** The most that is done between two chances for other work. */
  const mostInASlice = (work: SlicedWork<unknown>, doneSoFar: () => number): number => {
    let [most, before] = [0, doneSoFar()];
    for (let isDone = false; !isDone; before = doneSoFar()) {
      isDone = work.next().done === true;
      most = Math.max(most, doneSoFar() - before);
    }
    return most;
  };

  it('has strings that are as up to date as those of the original', () => {
    const source = large();
    const sources = sourceStrings(source);
    const strings = Object.fromEntries(
      sources.map(({ key, text }, place) => [
        key,
        { text: `de ${text}`, source: place % 3 === 1 ? '#before' : hashOf(text) },
      ]),
    );
    const { copy, newIds } = copyOf(source);
    const renamed = runAtOnce(renamedWordings(source, newIds, hashOf));
    const copied = runAtOnce(copyStrings({ ...strings, gone: { text: 'x', source: '' } }, renamed, newIds));
    const copies = sourceStrings(copy);
    assert.equal(Object.keys(copied).length, copies.length);
    for (const [place, { key, text }] of copies.entries()) {
      // The title of a copy is another one.
      const original = place === 0 ? source.title : text;
      const wanted = { text: `de ${original}`, source: place % 3 === 1 ? '#before' : hashOf(original) };
      assert.deepEqual(copied[key], wanted);
    }
  });

  it('is made in slices, with each wording hashed once for all languages', () => {
    const source = large();
    let ids = 0;
    const countingId = () => {
      ids += 1;
      return nextId();
    };
    const counted = copying(source, countingId);
    assert.ok(mostInASlice(counted, () => ids) <= 101 + 2);
    const { newIds } = copyOf(source);
    let hashes = 0;
    const counting = (text: string) => {
      hashes += 1;
      return hashOf(text);
    };
    const work = renamedWordings(source, newIds, counting);
    assert.ok(mostInASlice(work, () => hashes) <= 2 * 200);
    assert.equal(hashes, 2 * 1000);
    const strings = Object.fromEntries(sourceStrings(source).map(({ key, text }) => [key, { text, source: '' }]));
    const slices = [...copyStrings(strings, new Map(), newIds)].length;
    assert.ok(slices >= 5, `${slices} slices`);
  });
});
