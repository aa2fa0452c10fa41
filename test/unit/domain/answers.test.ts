import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkAnswers, compileSurvey, readAnswers } from '../../../src/domain/answers.ts';
import { changeQuestion } from '../../../src/domain/question-definition.ts';
import type { AnswerRow, GivenAnswer, KnownUpload } from '../../../src/domain/questions/contract.ts';
import { visibleQuestions, type Question, type SurveyWithQuestions } from '../../../src/domain/survey.ts';
import type { TypeName } from '../../support/every-type.ts';
import { blankSurvey, fullSurvey, nextId, withQuestion } from '../../support/questions.ts';
import { answersTwin } from './answers-twin.ts';
import { uploadsFor, valid } from './valid-answers.ts';

const required: readonly TypeName[] = ['NPS', 'CHECKBOXES', 'MATRIX'];

/** One question of every type; some are required, one is hidden, and one has lost an option. */
function aged(): { survey: SurveyWithQuestions; gone: string; hidden: Question } {
  const { survey, questions } = fullSurvey();
  const { survey: grown, question: hidden } = withQuestion(survey, { type: 'NPS', text: 'No longer asked', isRequired: true });
  const [lost, ...kept] = questions.RANKING.options;
  assert.ok(lost);
  const ranking = changeQuestion(questions.RANKING, { options: kept.map(({ id, text }) => ({ id, text })) }, { hasAnswers: true, newId: nextId });
  assert.ok('question' in ranking);
  const all = grown.questions.map((question) => (question.id === ranking.question.id ? ranking.question : { ...question, isHidden: question.id === hidden.id, isRequired: question.id === hidden.id || required.includes(question.type) }));
  return { survey: { ...grown, questions: all }, gone: lost.id, hidden };
}

const { survey, gone, hidden } = aged();
const compiled = compileSurvey(survey);
const asked = visibleQuestions(survey);
const of = (type: TypeName): Question => asked.find((question) => question.type === type) ?? assert.fail(type);
const uploads = uploadsFor(of('FILE_UPLOAD'));
const [uploadId = ''] = uploads.keys();
const noUploads = new Map<string, KnownUpload>();
const check = (answers: unknown, isComplete = true) => checkAnswers(compiled, answers, { isComplete, uploads });
const pathsOf = (checked: ReturnType<typeof check>): string[] => (checked.ok ? [] : checked.findings.map(({ path }) => path));

const whole = fc.tuple(...asked.map((question) => fc.tuple(fc.constant(question), fc.nat(29), valid[question.type](question)))).map((parts) =>
  parts.flatMap(([question, luck, values]) => (luck === 0 ? [] : values.map((value): GivenAnswer => ({ questionId: question.id, ...value })))),
);
const ids = fc.constantFrom(...asked.flatMap(({ id, options, rows }) => [id, ...options.map((option) => option.id), ...rows.map((row) => row.id)]), gone, hidden.id, uploadId, 'nobody', '__proto__', '');
const junk = fc.oneof(
  ids, fc.integer({ min: -1, max: 12 }), fc.constantFrom(null, true, 1.5, 2 ** 53, 1e300, [], {}, 'yes', 'no', 'a@example.org', 'a@b', '2024-02-30', '2024-02-29', '24:00', '09:05:59', 'two\nlines', 'nul \0', 'x'.repeat(256), '😀'.repeat(255), '  '),
);
/** Sets a field, drops one, says an answer twice, or leaves one out. */
const blow = fc.record({
  at: fc.nat(30),
  field: fc.constantFrom('questionId', 'textValue', 'numberValue', 'optionId', 'rowId', 'rank', 'colour', 'the value'),
  kind: fc.constantFrom('set', 'set', 'set', 'drop', 'repeat', 'leave out', 'replace'),
  value: junk,
});
type Blow = typeof blow extends fc.Arbitrary<infer T> ? T : never;

function strike(answers: readonly unknown[], { at, field, kind, value }: Blow): unknown[] {
  const index = answers.length === 0 ? 0 : at % answers.length;
  const answer = answers[index];
  if (kind === 'repeat') return [...answers, answer];
  if (kind === 'leave out') return answers.filter((_, other) => other !== index);
  if (kind === 'replace' || typeof answer !== 'object' || answer === null) return answers.with(index, value);
  const own = field === 'the value' ? (['textValue', 'numberValue', 'optionId'].find((name) => name in answer) ?? 'textValue') : field;
  const rest = Object.entries(answer).filter(([name]) => name !== own);
  return answers.with(index, Object.fromEntries(kind === 'drop' ? rest : [...rest, [own, value]]));
}

const submission = fc.tuple(whole, fc.array(blow, { maxLength: 2 })).map(([answers, blows]): unknown => JSON.parse(JSON.stringify(blows.reduce<unknown[]>((struck, one) => (struck.length === 0 ? struck : strike(struck, one)), answers))));

describe('checking answers', () => {
  for (const isComplete of [true, false])
    it(`by hand takes what the schema takes, ${isComplete ? 'complete' : 'partial'} submissions`, () => {
      const twin = answersTwin(survey, { isComplete, uploadId });
      let [taken, refused] = [0, 0];
      fc.assert(
        fc.property(submission, (answers) => {
          const expected = twin.safeParse(answers);
          const checked = check(answers, isComplete);
          if (checked.ok) taken += 1;
          else refused += 1;
          if (checked.ok !== expected.success) assert.fail(`${JSON.stringify(checked.ok ? expected.error : checked.findings)} of ${JSON.stringify(answers)}`);
          if (!checked.ok) assert.ok(checked.findings.length > 0 && checked.findings.every(({ path, message }) => /^answers(\.\d+(\.\w+)?)?$/.test(path) && message !== ''), JSON.stringify(checked.findings));
        }),
        { numRuns: 1000, seed: 20260115 },
      );
      assert.ok(taken > 100 && refused > 100, `${taken} were taken, ${refused} refused`);
    });

  it('reports all problems at once, each where it is', () => {
    const checked = check([
      { questionId: of('NPS').id, numberValue: 11 },
      { questionId: 'nobody', textValue: 'x' },
      { questionId: of('DROPDOWN').id, optionId: 'nothing', rank: 1 },
      { questionId: of('CHECKBOXES').id, optionId: of('CHECKBOXES').options[0]?.id, colour: 'red' },
      'not an answer',
      { questionId: of('YES_NO').id },
    ]);
    assert.deepEqual(pathsOf(checked).sort(), ['answers', 'answers.0.numberValue', 'answers.1.questionId', 'answers.2.rank', 'answers.3.colour', 'answers.4', 'answers.5']);
    assert.ok(!checked.ok && checked.findings.some(({ path, message }) => path === 'answers' && message.includes(of('MATRIX').id) && message.includes(of('MATRIX').text)));
  });

  it('does not call a question unknown or missing because its answer is misshaped', () => {
    assert.deepEqual(pathsOf(check([{ questionId: of('SHORT_TEXT').id, textValue: 5 }], false)), ['answers.0.textValue']);
    const rest = required.filter((type) => type !== 'NPS').map((type) => of(type).id);
    const checked = check([{ questionId: of('NPS').id, numberValue: '7' }]);
    assert.ok(!checked.ok);
    assert.deepEqual(checked.findings.filter(({ path }) => path === 'answers').map(({ message }) => rest.find((id) => message.includes(id))), rest);
    assert.deepEqual(pathsOf(checked).filter((path) => path !== 'answers'), ['answers.0.numberValue']);
  });

  it('asks for every row of a required grid and for more than white space in a required text, all at once', () => {
    let own = blankSurvey();
    const ask = (body: Parameters<typeof withQuestion>[1]): Question => {
      const added = withQuestion(own, { isRequired: true, ...body });
      own = added.survey;
      return added.question;
    };
    const grid = ask({ type: 'MATRIX', text: 'Grid', options: [{ text: 'Good' }], settings: { rows: [{ text: 'Food' }, { text: 'Room' }] } });
    const several = ask({ type: 'MATRIX', text: 'Several', options: [{ text: 'Good' }, { text: 'Bad' }], settings: { multiple: true, rows: [{ text: 'Food' }, { text: 'Room' }] } });
    const wording = ask({ type: 'LONG_TEXT', text: 'Words' });
    const free = ask({ type: 'SHORT_TEXT', text: 'Free', isRequired: false });
    const mark = (question: Question, row: number): unknown => ({ questionId: question.id, rowId: question.rows[row]?.id, optionId: question.options[0]?.id });
    const say = (answers: unknown, more: { isComplete?: boolean; previous?: AnswerRow } = {}) => checkAnswers(compileSurvey(own), answers, { isComplete: true, uploads: noUploads, ...more });
    const some = [mark(grid, 0), mark(several, 1), { questionId: wording.id, textValue: ' \n' }, { questionId: free.id, textValue: ' ' }];
    const checked = say(some);
    assert.ok(!checked.ok);
    assert.deepEqual(checked.findings.map(({ message }) => message), [
      `question ${grid.id} is required, in every row: Grid`, `question ${several.id} is required, in every row: Several`, `question ${wording.id} is required, and white space is no answer: Words`,
    ]);
    const saved = say(some, { isComplete: false });
    assert.ok(saved.ok && !say([], { previous: saved.row }).ok, 'what was saved is not enough either');
    assert.ok(say([mark(grid, 0), mark(grid, 1), mark(several, 0), mark(several, 1), { questionId: wording.id, textValue: ' a ' }], { previous: saved.row }).ok);
  });

  it('takes neither hidden questions nor hidden options, and asks for no hidden question', () => {
    assert.deepEqual(pathsOf(check([{ questionId: hidden.id, numberValue: 5 }], false)), ['answers.0.questionId']);
    assert.deepEqual(pathsOf(check([{ questionId: of('RANKING').id, optionId: gone }], false)), ['answers.0.optionId']);
    const missing = check([]);
    assert.ok(!missing.ok && missing.findings.length === required.length && !missing.findings.some(({ message }) => message.includes(hidden.id)));
  });

  it('takes an upload only for the question that it was sent to', () => {
    const answer = { questionId: of('FILE_UPLOAD').id, textValue: uploadId };
    assert.ok(check([answer], false).ok);
    assert.ok(!checkAnswers(compiled, [answer], { isComplete: false, uploads: noUploads }).ok);
    assert.ok(!checkAnswers(compiled, [answer], { isComplete: false, uploads: uploadsFor(of('NPS')) }).ok);
    assert.deepEqual(compiled.uploadIdsIn([answer, answer, { questionId: of('EMAIL').id, textValue: 'a@b.de' }, null, 7]), [uploadId]);
  });

  it('is not confused by prototype names, odd shapes and thousands of entries', () => {
    for (const odd of [null, 'x', 5, {}, [null], [[]], ['x'], [{ questionId: '__proto__', textValue: 'x' }], [{ questionId: 'constructor', numberValue: 1 }], JSON.parse('[{"__proto__":{"a":1},"questionId":"x","textValue":"y"}]')])
      assert.ok(!check(odd, false).ok, JSON.stringify(odd));
    assert.equal(({} as { a?: number }).a, undefined);
    const many = check(Array.from({ length: 10_000 }, () => ({ questionId: 'nobody', textValue: 'x' })));
    assert.ok(!many.ok && many.findings.length < 100);
    const crowded = check([Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 1]))]);
    assert.ok(!crowded.ok && crowded.findings.length < 100);
  });
});

describe('a response that is continued', () => {
  const first = withQuestion(blankSurvey(), { type: 'NPS', text: 'first', isRequired: true });
  const second = withQuestion(first.survey, { type: 'CHECKBOXES', text: 'second', isRequired: true, options: [{ text: 'a' }, { text: 'b' }] });
  const ready = compileSurvey(second.survey);
  const [a, b] = second.question.options.map(({ id }) => ({ questionId: second.question.id, optionId: id }));
  const nps = (numberValue: number): GivenAnswer => ({ questionId: first.question.id, numberValue });
  const save = (answers: unknown, isComplete: boolean, previous?: AnswerRow) => checkAnswers(ready, answers, { isComplete, uploads: noUploads, ...(previous && { previous }) });
  const rowOf = (checked: ReturnType<typeof save>): AnswerRow => (checked.ok ? checked.row : assert.fail(JSON.stringify(checked.findings)));

  it('is judged with what it had before', () => {
    const part = rowOf(save([nps(3)], false));
    assert.ok(!save([], true).ok);
    assert.ok(!save([], true, part).ok);
    assert.deepEqual(readAnswers(ready, rowOf(save([a], true, part))), [nps(3), a]);
  });

  it('replaces a question’s old answer entirely and leaves the others and the old row alone', () => {
    const part = rowOf(save([nps(3), a, b], false));
    const kept = structuredClone(part);
    const changed = save([b], true, part);
    assert.deepEqual(readAnswers(ready, rowOf(changed)), [nps(3), b]);
    assert.deepEqual(part, kept);
  });

  it('may come from before the survey got more questions', () => {
    const part = rowOf(save([nps(3)], false));
    const third = withQuestion(second.survey, { type: 'SHORT_TEXT', text: 'third' });
    const grown = compileSurvey(third.survey);
    assert.deepEqual(readAnswers(grown, part), [nps(3)]);
    const said = { questionId: third.question.id, textValue: 'hello' };
    const row = rowOf(checkAnswers(grown, [a, said], { isComplete: true, uploads: noUploads, previous: part }));
    assert.deepEqual(readAnswers(grown, row), [nps(3), a, said]);
    assert.deepEqual([row.codes.length, row.numbers.length, row.texts.length], [third.survey.slotCounts.codes, third.survey.slotCounts.numbers, third.survey.slotCounts.texts]);
  });

  it('gives back answers to questions that are hidden now', () => {
    const row = rowOf(save([nps(3), a], true));
    const without = compileSurvey({ ...second.survey, questions: second.survey.questions.map((question) => ({ ...question, isHidden: true })) });
    assert.deepEqual(readAnswers(without, row), [nps(3), a]);
  });
});
