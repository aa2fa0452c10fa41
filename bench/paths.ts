import { blankSurvey } from '../src/domain/blank-survey.ts';
import { type Condition, type Skip, skipToEnd } from '../src/domain/path/definition.ts';
import { compilePaths, givenAnswers, pathOf, walkOf } from '../src/domain/path/path.ts';
import type { GivenAnswer } from '../src/domain/questions/contract.ts';
import { defineQuestion } from '../src/domain/questions/question-definition.ts';
import { allocateSlots } from '../src/domain/questions/slot-allocation.ts';
import { checkAnswers, compileSurvey } from '../src/domain/submission/answers.ts';
import { createRowPathAnswers } from '../src/domain/submission/row-path-answers.ts';
import type { SurveyWithQuestions } from '../src/domain/survey.ts';
import { checkPaths } from '../src/domain/survey-paths/path-checks.ts';
import { pathDefinitionOf } from '../src/domain/survey-paths/path-definition.ts';
import { newId } from '../src/platform/ids.ts';
import { machineLine, option } from './support/machine.ts';

/**
 * Time of one respondent's path: what a submission costs (a walk over a stored row), and the path as it is shown. For
 * the largest survey (500 questions with 2,000 leaves; wanted: 200 µs a walk) and a usual one (30 questions with 20
 * leaves). `--rounds N`: rounds of 1 ms for each figure (default 2,000).
 */
const rounds = option('rounds', 2000);
const msPerRound = 1;

const types = ['MULTIPLE_CHOICE', 'CHECKBOXES', 'NPS', 'SHORT_TEXT', 'MATRIX', 'RANKING', 'DATE', 'YES_NO'] as const;
const labels = ['Ant', 'Bee', 'Cat', 'Dog', 'Elk', 'Fox'].map((text) => ({ text }));

console.log(machineLine());
for (const size of [
  { name: 'usual', questions: 30, leaves: 20 },
  { name: 'largest', questions: 500, leaves: 2000 },
])
  measure(size);

function measure({ name, questions, leaves }: { name: string; questions: number; leaves: number }): void {
  const survey = makeSurvey(questions, leaves);
  const issues = checkPaths(survey);
  if (issues.length > 0) throw new Error(JSON.stringify(issues[0]));
  const answers = survey.questions.flatMap(answersTo);
  const checked = checkAnswers(compileSurvey(survey), answers, { isComplete: false, uploads: new Map() });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues[0]));
  const definition = pathDefinitionOf(survey);
  const compiled = compilePaths(definition);
  const rowAnswers = createRowPathAnswers(survey, compiled);
  const context = { surveyLanguage: 'en', responseId: newId() };
  const walk = walkOf(compiled, rowAnswers(checked.row), context);
  const onPath = walk.onPath.reduce((sum, bit) => sum + bit, 0);
  const figures = {
    walkUs: microseconds(() => walkOf(compiled, rowAnswers(checked.row), context)),
    pathUs: microseconds(() => pathOf(compiled, rowAnswers(checked.row), context)),
    givenUs: microseconds(() => pathOf(compiled, givenAnswers(compiled, answers), context)),
    compileUs: microseconds(() => compilePaths(definition)),
    checkUs: microseconds(() => checkPaths(survey)),
  };
  console.log(
    `${name.padEnd(8)} ${questions} questions, ${leaves} leaves, ${onPath} on the path: walk over a row ${figures.walkUs} µs, path shown ${figures.pathUs} µs, from answers as sent ${figures.givenUs} µs, compiled in ${figures.compileUs} µs, checked in ${figures.checkUs} µs`,
  );
  console.log(JSON.stringify({ bench: 'paths', survey: name, questions, leaves, onPath, ...figures }));
}

/**
 * Time of one call in the fastest tenth of the rounds: they are shorter than a time slice, so that most of them are not
 * disturbed by what else the machine does.
 */
function microseconds(call: () => unknown): number {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    let calls = 0;
    while (performance.now() - startedAt < msPerRound) {
      call();
      calls += 1;
    }
    times.push(((performance.now() - startedAt) * 1000) / calls);
  }
  const fast = times.sort((one, other) => one - other)[Math.floor(rounds / 10)] ?? Number.NaN;
  return Math.round(fast * 10) / 10;
}

/** Questions of eight types in turn; each from the ninth on has its share of the leaves, about the eight before it. */
function makeSurvey(count: number, leaves: number): SurveyWithQuestions {
  let survey: SurveyWithQuestions = { ...blankSurvey(newId(), newId(), 0), questions: [] };
  for (let index = 0; index < count; index += 1) {
    const type = types[index % types.length] as (typeof types)[number];
    const hasOptions = !['NPS', 'SHORT_TEXT', 'DATE', 'YES_NO'].includes(type);
    const defined = defineQuestion(
      {
        type,
        text: 'A question',
        ...(hasOptions && { options: type === 'RANKING' ? labels.slice(0, 3) : labels }),
        ...(type === 'MATRIX' && { settings: { rows: labels.slice(0, 3) } }),
      },
      { id: newId(), surveyId: survey.id, order: index, newId },
    );
    if ('issues' in defined) throw new Error(JSON.stringify(defined.issues));
    const { slots, counts } = allocateSlots(defined.question, survey.slotCounts);
    const left = Math.round((leaves * (index - 7)) / (count - 8)) - Math.round((leaves * (index - 8)) / (count - 8));
    const share = index < 8 ? 0 : left;
    const tests = Array.from({ length: share }, (_, leaf) => leafAbout(survey, index - 8 + (leaf % 8)));
    const [skipLeaf, ...rest] = tests;
    survey = {
      ...survey,
      slotCounts: counts,
      questions: [
        ...survey.questions,
        {
          ...defined.question,
          slots,
          ...(rest.length > 0 && { visibleIf: { all: rest } satisfies Condition }),
          ...(skipLeaf && { skips: [{ if: { not: { any: [skipLeaf] } }, to: skipToEnd }] satisfies Skip[] }),
        },
      ],
    };
  }
  return survey;
}

/** A condition that the answers below meet. */
function leafAbout(survey: SurveyWithQuestions, index: number): Condition {
  const question = survey.questions[index];
  if (!question) throw new Error('there is no such question');
  const { id: questionId, options, rows } = question;
  const optionIds = options.slice(0, 3).map(({ id }) => id);
  switch (question.type) {
    case 'CHECKBOXES':
      return { questionId, operator: 'includesAll', optionIds: optionIds.slice(0, 2) };
    case 'NPS':
      return { questionId, operator: 'between', min: 3, max: 9 };
    case 'SHORT_TEXT':
      return { questionId, operator: 'containsText', value: 'ANSWER' };
    case 'MATRIX':
      return { questionId, rowId: rows[1]?.id ?? '', operator: 'isAnyOf', optionIds };
    case 'RANKING':
      return { questionId, operator: 'rankedAtMost', optionId: optionIds[1] ?? '', rank: 2 };
    case 'DATE':
      return { questionId, operator: 'between', min: '2024-01-01' };
    default:
      return { questionId, operator: 'isAnyOf', optionIds };
  }
}

function answersTo({ id: questionId, type, options, rows }: SurveyWithQuestions['questions'][number]): GivenAnswer[] {
  const [first = '', second = ''] = options.map(({ id }) => id);
  switch (type) {
    case 'CHECKBOXES':
      return [first, second].map((optionId) => ({ questionId, optionId }));
    case 'NPS':
      return [{ questionId, numberValue: 8 }];
    case 'SHORT_TEXT':
      return [{ questionId, textValue: 'An answer of a few words' }];
    case 'MATRIX':
      return rows.map(({ id: rowId }) => ({ questionId, rowId, optionId: second }));
    case 'RANKING':
      return options.map((option, index) => ({ questionId, optionId: option.id, rank: index + 1 }));
    case 'DATE':
      return [{ questionId, textValue: '2024-02-29' }];
    default:
      return [{ questionId, optionId: first }];
  }
}
