import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnswerRow, GivenAnswer, KnownUpload } from '../../../../src/domain/questions/contract.ts';
import { checkAnswers, compileSurvey, readAnswers } from '../../../../src/domain/submission/answers.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import { compareChecks, compiled, gone, hidden, of, required, uploadId, uploads } from './compare-answer-checks.ts';
import { uploadsFor } from './valid-answers.ts';

const noUploads = new Map<string, KnownUpload>();
const check = (answers: unknown, isComplete = true) => checkAnswers(compiled, answers, { isComplete, uploads });
const pathsOf = (checked: ReturnType<typeof check>): string[] =>
  checked.ok ? [] : checked.issues.map(({ path }) => path);

describe('checking answers', () => {
  // Thousands of them: test/fuzz/submissions.
  for (const isComplete of [true, false])
    it(`accepts what the schema accepts, ${isComplete ? 'complete' : 'partial'} submissions`, () => {
      const { taken, refused } = compareChecks({ submissions: 60, isComplete });
      assert.ok(taken > 6 && refused > 6, `${taken} were taken, ${refused} refused`);
    });

  it('reports all issues at once, each with its path', () => {
    const checked = check([
      { questionId: of('NPS').id, numberValue: 11 },
      { questionId: 'nobody', textValue: 'x' },
      { questionId: of('DROPDOWN').id, optionId: 'nothing', rank: 1 },
      { questionId: of('CHECKBOXES').id, optionId: of('CHECKBOXES').options[0]?.id, colour: 'red' },
      'not an answer',
      { questionId: of('YES_NO').id },
    ]);
    const missing = required
      .filter((type) => !['NPS', 'DROPDOWN', 'CHECKBOXES', 'YES_NO'].includes(type))
      .map((type) => `answers.${of(type).id}`);
    assert.deepEqual(
      pathsOf(checked).sort(),
      [
        'answers.0.numberValue',
        'answers.1.questionId',
        'answers.2.rank',
        'answers.3.colour',
        'answers.4',
        'answers.5',
        ...missing,
      ].sort(),
    );
    assert.ok(
      !checked.ok &&
        checked.issues.some(
          ({ path, message }) =>
            path === `answers.${of('MATRIX').id}` &&
            message.includes(of('MATRIX').id) &&
            message.includes(of('MATRIX').text),
        ),
    );
  });

  it('does not call a question unknown or missing because its answer is misshaped', () => {
    assert.deepEqual(pathsOf(check([{ questionId: of('SHORT_TEXT').id, textValue: 5 }], false)), [
      'answers.0.textValue',
    ]);
    const rest = required.filter((type) => type !== 'NPS').map((type) => of(type).id);
    const checked = check([{ questionId: of('NPS').id, numberValue: '7' }]);
    assert.ok(!checked.ok);
    assert.deepEqual(pathsOf(checked), ['answers.0.numberValue', ...rest.map((id) => `answers.${id}`)]);
  });

  it('requires every row of a required grid and more than white space in a required text, all at once', () => {
    let own = blankSurvey();
    const ask = (body: Parameters<typeof withQuestion>[1]): Question => {
      const added = withQuestion(own, { isRequired: true, ...body });
      own = added.survey;
      return added.question;
    };
    const grid = ask({
      type: 'MATRIX',
      text: 'Grid',
      options: [{ text: 'Good' }],
      settings: { rows: [{ text: 'Food' }, { text: 'Room' }] },
    });
    const several = ask({
      type: 'MATRIX',
      text: 'Several',
      options: [{ text: 'Good' }, { text: 'Bad' }],
      settings: { multiple: true, rows: [{ text: 'Food' }, { text: 'Room' }] },
    });
    const wording = ask({ type: 'LONG_TEXT', text: 'Dear {{metadata:name|guest}}, any words?' });
    const free = ask({ type: 'SHORT_TEXT', text: 'Free', isRequired: false });
    const mark = (question: Question, row: number): unknown => ({
      questionId: question.id,
      rowId: question.rows[row]?.id,
      optionId: question.options[0]?.id,
    });
    const say = (answers: unknown, more: { isComplete?: boolean; previous?: AnswerRow } = {}) =>
      checkAnswers(compileSurvey(own), answers, { isComplete: true, uploads: noUploads, ...more });
    const some = [
      mark(grid, 0),
      mark(several, 1),
      { questionId: wording.id, textValue: ' \n' },
      { questionId: free.id, textValue: ' ' },
    ];
    const checked = say(some);
    assert.ok(!checked.ok);
    assert.deepEqual(
      checked.issues.map(({ message }) => message),
      [
        `question ${grid.id} is required, in every row: Grid`,
        `question ${several.id} is required, in every row: Several`,
        `question ${wording.id} is required, and white space is no answer: Dear guest, any words?`,
      ],
    );
    assert.deepEqual(
      pathsOf(checked),
      ['answers.0', 'answers.1', 'answers.2'],
      'what is not enough is where it begins',
    );
    const saved = say(some, { isComplete: false });
    assert.ok(saved.ok && !say([], { previous: saved.row }).ok, 'what was saved is not enough either');
    assert.ok(
      say(
        [
          mark(grid, 0),
          mark(grid, 1),
          mark(several, 0),
          mark(several, 1),
          { questionId: wording.id, textValue: ' a ' },
        ],
        { previous: saved.row },
      ).ok,
    );
  });

  it('treats white space in an optional text as no answer, also with a pattern, and then removes the saved answer', () => {
    const first = withQuestion(blankSurvey(), { type: 'SHORT_TEXT', text: 'Code', settings: { pattern: '[0-9]+' } });
    const second = withQuestion(first.survey, { type: 'LONG_TEXT', text: 'Why?' });
    const own = compileSurvey(second.survey);
    const say = (short: string, long: string, previous?: AnswerRow) =>
      checkAnswers(
        own,
        [
          { questionId: first.question.id, textValue: short },
          { questionId: second.question.id, textValue: long },
        ],
        { isComplete: true, uploads: noUploads, previous },
      );
    for (const blank of ['   ', '\u00a0', '\t \t']) {
      const said = say(blank, ` ${blank}\n`);
      assert.ok(said.ok);
      assert.deepEqual(readAnswers(own, said.row), []);
    }
    const before = say('12', 'because');
    assert.ok(before.ok && readAnswers(own, before.row).length === 2);
    const after = say('12', ' ', before.row);
    assert.ok(after.ok);
    assert.deepEqual(readAnswers(own, after.row), [{ questionId: first.question.id, textValue: '12' }]);
    assert.ok(!say('x', 'because').ok && !say('', 'because').ok);
  });

  it('explains invalid numbers, and reports one issue for a value that is no list', () => {
    const said = (numberValue: unknown) => {
      const checked = check([{ questionId: of('NPS').id, numberValue }], false);
      return checked.ok
        ? []
        : checked.issues.filter(({ path }) => path.endsWith('numberValue')).map(({ message }) => message);
    };
    for (const other of ['9', null, true]) assert.deepEqual(said(other), ['must be a number']);
    for (const inexact of [2 ** 53, Infinity])
      assert.deepEqual(said(inexact), ['must be a number that can be represented exactly']);
    assert.deepEqual(pathsOf(check({ no: 'list' })), ['answers']);
    assert.deepEqual(pathsOf(check(undefined)), []);
  });

  it('refuses hidden questions and options, and requires no hidden question', () => {
    assert.deepEqual(pathsOf(check([{ questionId: hidden.id, numberValue: 5 }], false)), ['answers.0.questionId']);
    assert.deepEqual(pathsOf(check([{ questionId: of('RANKING').id, optionId: gone }], false)), ['answers.0.optionId']);
    const missing = check([]);
    assert.ok(
      !missing.ok &&
        missing.issues.length === required.length &&
        !missing.issues.some(({ message }) => message.includes(hidden.id)),
    );
  });

  it('accepts an upload only for the question that it was sent to', () => {
    const answer = { questionId: of('FILE_UPLOAD').id, textValue: uploadId };
    assert.ok(check([answer], false).ok);
    assert.ok(!checkAnswers(compiled, [answer], { isComplete: false, uploads: noUploads }).ok);
    assert.ok(!checkAnswers(compiled, [answer], { isComplete: false, uploads: uploadsFor(of('NPS')) }).ok);
    assert.deepEqual(
      compiled.uploadIdsIn([answer, answer, { questionId: of('EMAIL').id, textValue: 'a@b.de' }, null, 7]),
      [uploadId],
    );
  });

  it('is not confused by prototype names, odd shapes and thousands of entries', () => {
    for (const odd of [
      null,
      'x',
      5,
      {},
      [null],
      [[]],
      ['x'],
      [{ questionId: '__proto__', textValue: 'x' }],
      [{ questionId: 'constructor', numberValue: 1 }],
      JSON.parse('[{"__proto__":{"a":1},"questionId":"x","textValue":"y"}]'),
    ])
      assert.ok(!check(odd, false).ok, JSON.stringify(odd));
    assert.equal(({} as { a?: number }).a, undefined);
    const many = check(Array.from({ length: 10_000 }, () => ({ questionId: 'nobody', textValue: 'x' })));
    assert.ok(!many.ok && many.issues.length < 100);
    const crowded = check([Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 1]))]);
    assert.ok(!crowded.ok && crowded.issues.length < 100);
  });
});

describe('a response that is continued', () => {
  const first = withQuestion(blankSurvey(), { type: 'NPS', text: 'first', isRequired: true });
  const second = withQuestion(first.survey, {
    type: 'CHECKBOXES',
    text: 'second',
    isRequired: true,
    options: [{ text: 'a' }, { text: 'b' }],
  });
  const ready = compileSurvey(second.survey);
  const [a, b] = second.question.options.map(({ id }) => ({ questionId: second.question.id, optionId: id }));
  const nps = (numberValue: number): GivenAnswer => ({ questionId: first.question.id, numberValue });
  const save = (answers: unknown, isComplete: boolean, previous?: AnswerRow) =>
    checkAnswers(ready, answers, { isComplete, uploads: noUploads, ...(previous && { previous }) });
  const rowOf = (checked: ReturnType<typeof save>): AnswerRow =>
    checked.ok ? checked.row : assert.fail(JSON.stringify(checked.issues));

  it('is checked together with its saved answers', () => {
    const part = rowOf(save([nps(3)], false));
    assert.ok(!save([], true).ok);
    assert.ok(!save([], true, part).ok);
    assert.deepEqual(readAnswers(ready, rowOf(save([a], true, part))), [nps(3), a]);
  });

  it('replaces a question’s saved answer entirely, and leaves other answers and the old row unchanged', () => {
    const part = rowOf(save([nps(3), a, b], false));
    const kept = structuredClone(part);
    const changed = save([b], true, part);
    assert.deepEqual(readAnswers(ready, rowOf(changed)), [nps(3), b]);
    assert.deepEqual(part, kept);
  });

  it('may have been saved before the survey got more questions', () => {
    const part = rowOf(save([nps(3)], false));
    const third = withQuestion(second.survey, { type: 'SHORT_TEXT', text: 'third' });
    const grown = compileSurvey(third.survey);
    assert.deepEqual(readAnswers(grown, part), [nps(3)]);
    const said = { questionId: third.question.id, textValue: 'hello' };
    const row = rowOf(checkAnswers(grown, [a, said], { isComplete: true, uploads: noUploads, previous: part }));
    assert.deepEqual(readAnswers(grown, row), [nps(3), a, said]);
    assert.deepEqual(
      [row.codes.length, row.numbers.length, row.texts.length],
      [third.survey.slotCounts.codes, third.survey.slotCounts.numbers, third.survey.slotCounts.texts],
    );
  });

  it('includes answers to questions that are hidden now', () => {
    const row = rowOf(save([nps(3), a], true));
    const without = compileSurvey({
      ...second.survey,
      questions: second.survey.questions.map((question) => ({ ...question, isHidden: true })),
    });
    assert.deepEqual(readAnswers(without, row), [nps(3), a]);
  });
});
