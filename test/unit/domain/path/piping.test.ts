import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePaths, givenAnswers, type PathContext, walkOf } from '../../../../src/domain/path/path.ts';
import { createPiping, type PipingOptions } from '../../../../src/domain/path/piping.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { pathDefinitionOf } from '../../../../src/domain/survey-paths/path-definition.ts';
import { surveyOf, withFields } from '../../../support/path-surveys.ts';

const labels = ['Ant', 'Bee', 'Cat'].map((text) => ({ text }));
const { survey, questions } = surveyOf([
  { type: 'MULTIPLE_CHOICE', options: labels, settings: { allowOther: true } },
  { type: 'CHECKBOXES', options: labels },
  { type: 'MATRIX', options: labels, settings: { rows: [{ text: 'Today' }, { text: 'Then' }], multiple: true } },
  { type: 'RANKING', options: labels },
  { type: 'NUMBER' },
  { type: 'TIME' },
  { type: 'LONG_TEXT' },
  { type: 'LIKERT_SCALE' },
  { type: 'FILE_UPLOAD' },
]);
const [choice, boxes, grid, ranking, number, time, text, likert, upload] = questions as [
  Question,
  Question,
  Question,
  Question,
  Question,
  Question,
  Question,
  Question,
  Question,
];
const of = ({ id }: Question) => `{{question:${id}}}`;
const pick = ({ id, options }: Question, ...indexes: number[]) =>
  indexes.map((index) => ({ questionId: id, optionId: options[index]?.id }));

interface Rendering extends Partial<PipingOptions> {
  answers?: readonly object[];
  context?: Partial<PathContext>;
  in?: SurveyWithQuestions;
}

function render(
  template: string,
  { answers = [], context = {}, in: shown = survey, ...options }: Rendering = {},
): string {
  const compiled = compilePaths(pathDefinitionOf(shown));
  const walk = walkOf(compiled, givenAnswers(compiled, answers), { surveyLanguage: 'en', ...context });
  return createPiping(compiled, walk, { language: 'en', ...options })(template);
}

describe('a placeholder', () => {
  it('shows the label of an answer, several joined as the language does', () => {
    assert.equal(render(`You said ${of(choice)}.`, { answers: pick(choice, 1) }), 'You said Bee.');
    const answers = pick(boxes, 2, 0, 1);
    assert.equal(render(of(boxes), { answers }), 'Ant, Bee, and Cat');
    assert.equal(render(of(boxes), { answers, language: 'de' }), 'Ant, Bee und Cat');
    assert.equal(render(of(boxes), { answers, language: '!' }), 'Ant, Bee, Cat');
    assert.equal(render(of(ranking), { answers: pick(ranking, 2, 0) }), 'Cat and Ant');
  });

  it('shows labels in the respondent’s language', () => {
    const texts = new Map([[boxes.options[1]?.id ?? '', 'Biene']]);
    assert.equal(render(of(boxes), { answers: pick(boxes, 0, 1), language: 'de', texts }), 'Ant und Biene');
  });

  const value = ({ id }: Question, given: object) => ({ answers: [{ questionId: id, ...given }] });

  it('shows numbers with all their digits, as the language writes them, and years as years', () => {
    for (const [numberValue, language, written] of [
      [1234.5, 'en', '1234.5'],
      [1.234, 'de', '1,234'],
      [2024, 'de', '2024'],
      [0.0000001, 'fr', '0,0000001'],
      [1.5, '!', '1.5'],
    ] as const)
      assert.equal(render(of(number), { ...value(number, { numberValue }), language }), written);
  });

  it('shows times and texts as they were given', () => {
    assert.equal(render(of(time), value(time, { textValue: '08:30' })), '08:30');
    assert.equal(render(of(time), value(time, { textValue: '08:30:05' })), '08:30:05');
    assert.equal(render(of(text), value(text, { textValue: ' as <b>it</b> is ' })), ' as <b>it</b> is ');
    assert.equal(render(of(likert), value(likert, { numberValue: 4 })), 'Agree');
    assert.equal(render(of(choice), value(choice, { textValue: 'Else' })), 'Else');
    assert.equal(render(`${of(upload)}!`, value(upload, { textValue: 'an id' })), '!');
  });

  it('shows a row of a MATRIX', () => {
    const answers = pick(grid, 0, 2).map((answer) => ({ ...answer, rowId: grid.rows[1]?.id }));
    const row = (index: number) => `{{question:${grid.id}:row:${grid.rows[index]?.id}|nothing}}`;
    assert.equal(render(`${row(1)}, ${row(0)}`, { answers }), 'Ant and Cat, nothing');
  });

  it('shows metadata and the invitation', () => {
    const context = { metadata: { 'my key': 'A' }, invitation: { name: 'Zoë' } };
    assert.equal(render('{{invitation:name}} {{ metadata: my key }}', { context }), 'Zoë A');
    assert.equal(render('{{invitation:gone|you}} {{metadata:constructor}}', { context }), 'you ');
  });

  it('shows its fallback, or nothing, without an answer and off the path', () => {
    assert.equal(render(`a ${of(choice)} b {{question:${choice.id}| or else }}`), 'a  b  or else ');
    const hidden = withFields(survey, choice.id, { visibleIf: { metadata: 'key', operator: 'answered' } });
    assert.equal(render(`{{question:${choice.id}|none}}`, { in: hidden, answers: pick(choice, 0) }), 'none');
    assert.equal(render('{{question:gone|none}}'), 'none');
  });

  it('is not read again where an answer contains one', () => {
    const typed = `{{question:${choice.id}}} {{metadata:key}}`;
    const answers = [...pick(choice, 0), { questionId: text.id, textValue: typed }];
    assert.equal(render(of(text), { answers, context: { metadata: { key: 'secret' } } }), typed);
  });

  it('leaves other braces as they are', () => {
    for (const plain of ['', '{{', '{{name}}', '{{other:x}}', '{question:a}', '}} {{ }}', '{{question:a'])
      assert.equal(render(plain), plain);
  });
});

describe('labels with placeholders of their own', () => {
  it('are rendered with earlier answers only', () => {
    const labelled = withFields(survey, boxes.id, {
      options: boxes.options.map((option) => ({
        ...option,
        text: `${option.text} not ${of(choice)}${of(boxes)}${of(text)}`,
      })),
    });
    const answers = [...pick(choice, 0), ...pick(boxes, 1), { questionId: text.id, textValue: 'later' }];
    assert.equal(render(of(boxes), { in: labelled, answers }), 'Bee not Ant');
  });

  it('do not multiply without bounds', () => {
    const chain = surveyOf(
      Array.from({ length: 60 }, () => (before: readonly Question[]) => {
        const last = before.at(-1);
        return { type: 'DROPDOWN' as const, options: [{ text: last ? `${of(last)}${of(last)}` : 'x' }] };
      }),
    );
    const answers = chain.questions.flatMap((question) => pick(question, 0));
    const rendered = render(of(chain.questions.at(-1) as Question), { in: chain.survey, answers });
    assert.equal(rendered.length, 10_000);
  });
});

describe('placeholders that insert long values', () => {
  const metadata = { key: 'x'.repeat(1000) };
  const long = '{{metadata:key|-}}'.repeat(100);

  it('show their fallbacks once 256 Ki characters are inserted into all texts together', () => {
    const rendered = render(long.repeat(10), { context: { metadata } });
    assert.ok(rendered.startsWith('x'.repeat(256 * 1024)) && rendered.endsWith('-'.repeat(700)));
    assert.ok(rendered.length < 300_000, `${rendered.length} characters`);
  });

  it('do so sooner where a text is shown several times', () => {
    const compiled = compilePaths(pathDefinitionOf(survey));
    const walk = walkOf(compiled, givenAnswers(compiled, []), { surveyLanguage: 'en', metadata });
    const piping = createPiping(compiled, walk, { language: 'en' });
    assert.equal(piping(long, 20), 'x'.repeat(14_000) + '-'.repeat(86));
    assert.equal(piping(long), '-'.repeat(100));
  });
});
