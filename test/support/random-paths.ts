import type { AnswerLeaf, AnswerTest, Condition, Section, Skip } from '../../src/domain/path/definition.ts';
import type { GivenAnswer } from '../../src/domain/questions/contract.ts';
import { openPoints } from '../../src/domain/questions/ordered-options.ts';
import type { QuestionTypeName } from '../../src/domain/questions/type-names.ts';
import type { Option, Question, SurveyWithQuestions } from '../../src/domain/survey.ts';
import { withoutBroken } from '../../src/domain/survey-paths/path-changes.ts';
import { checkElements } from '../../src/domain/survey-paths/path-checks.ts';
import { elementsOf } from '../../src/domain/survey-paths/path-elements.ts';
import { type Chance, createChance } from '../fuzz/chance.ts';
import { blankSurvey, nextId, withQuestion } from './questions.ts';
import type { Came } from './slow-path.ts';

/** A random survey with paths that passes all checks, and what a respondent may send to it. */
export interface RandomPaths {
  survey: SurveyWithQuestions;
  /** Each taken by `checkAnswers`; those to one question side by side. */
  answers: GivenAnswer[];
  came: Came;
}

export interface RandomPathsSize {
  questions: number;
  sections: number;
}

export function randomPaths(seed: number, size: RandomPathsSize): RandomPaths {
  const chance = createChance(seed);
  const survey = randomSurvey(chance, size);
  return {
    survey,
    answers: survey.questions.flatMap((question) => randomAnswers(chance, question)),
    came: {
      metadata: chance.is(0.5) ? { source: randomText(chance) } : {},
      invitation: chance.is(0.3) ? { group: randomText(chance) } : {},
      language: chance.pick(['en', 'en-GB', 'de', 'de-AT', 'zh-Hant-TW', 'zh-HK']),
    },
  };
}

const types: readonly QuestionTypeName[] = [
  'MULTIPLE_CHOICE',
  'MULTIPLE_CHOICE',
  'CHECKBOXES',
  'CHECKBOXES',
  'DROPDOWN',
  'RATING_SCALE',
  'NPS',
  'MATRIX',
  'MATRIX',
  'RANKING',
  'SHORT_TEXT',
  'LONG_TEXT',
  'EMAIL',
  'NUMBER',
  'DATE',
  'TIME',
  'SLIDER',
  'YES_NO',
  'LIKERT_SCALE',
];
const values = ['ant', 'bee', 'cat', 'dog'];
const labels = values.map((value) => ({ text: value, value }));

function randomSurvey(chance: Chance, { questions, sections }: RandomPathsSize): SurveyWithQuestions {
  let survey: SurveyWithQuestions = {
    ...blankSurvey(),
    isShuffled: chance.is(0.1),
    sections: Array.from(
      { length: sections },
      (_, order): Section => ({
        id: nextId(),
        title: '',
        description: null,
        order,
        isShuffled: chance.is(0.1),
        visibleIf: null,
      }),
    ),
  };
  for (let count = 0; count < questions; count += 1)
    survey = withQuestion(survey, { ...randomBody(chance), isRequired: chance.is(0.4) }).survey;
  const ids = [undefined, ...(survey.sections ?? []).map(({ id }) => id)];
  const placed = survey.questions
    .map((question, index): Question => {
      const sectionId = ids[Math.min(ids.length - 1, Math.floor((index * ids.length) / questions))];
      return { ...question, ...(sectionId !== undefined && { sectionId }) };
    })
    .map((question, index, all): Question => withPaths(chance, question, all.slice(0, index + 1), all, ids));
  const withConditions: SurveyWithQuestions = {
    ...survey,
    sections: (survey.sections ?? []).map((section) => ({
      ...section,
      visibleIf: chance.is(0.4) ? randomCondition(chance, placed) : null,
    })),
    questions: placed,
  };
  return passing(withConditions);
}

/** What does not pass the checks is left out: a survey like that cannot be saved. */
function passing(survey: SurveyWithQuestions): SurveyWithQuestions {
  const wrong = checkElements(survey, elementsOf(survey)).map(({ element: { place, field }, path, message }) => ({
    ...place,
    field,
    path,
    message,
  }));
  return withoutBroken(survey, wrong);
}

function randomBody(chance: Chance): Parameters<typeof withQuestion>[1] {
  const type = chance.pick(types);
  const text = 'A question';
  switch (type) {
    case 'MATRIX':
      return {
        type,
        text,
        options: labels.slice(0, 3),
        settings: { rows: labels.slice(0, 3), multiple: chance.is(0.5) },
      };
    case 'MULTIPLE_CHOICE':
    case 'DROPDOWN':
      return { type, text, options: labels, settings: { allowOther: chance.is(0.3) } };
    case 'CHECKBOXES':
    case 'RANKING':
      return { type, text, options: labels };
    case 'SLIDER':
      return { type, text, settings: { min: 0, max: 1, step: 0.1 } };
    default:
      return { type, text };
  }
}

function withPaths(
  chance: Chance,
  question: Question,
  upToHere: readonly Question[],
  all: readonly Question[],
  sectionIds: readonly (string | undefined)[],
): Question {
  const earlier = upToHere.slice(0, -1);
  const items = (list: readonly Option[]) =>
    list.map((item) => ({
      ...item,
      ...(earlier.length > 0 && chance.is(0.15) && { visibleIf: randomCondition(chance, earlier) }),
      ...(chance.is(0.15) && { isAnchored: true }),
    }));
  const skips = Array.from(
    {
      length: chance.weighted([
        [6, 0],
        [3, 1],
        [1, 2],
      ]),
    },
    (): Skip => ({
      if: randomCondition(chance, chance.is(0.6) ? [question] : upToHere),
      to: chance.weighted([
        [4, chance.pick(all).id],
        [2, chance.pick(sectionIds) ?? 'END'],
        [1, 'END'],
        [1, 'SCREEN_OUT'],
      ]),
    }),
  );
  return {
    ...question,
    options: items(question.options),
    rows: items(question.rows),
    ...(earlier.length > 0 && chance.is(0.4) && { visibleIf: randomCondition(chance, earlier) }),
    ...(skips.length > 0 && { skips }),
    ...(earlier.length > 0 &&
      chance.is(0.25) && {
        optionsFrom: {
          questionId: chance.pick(earlier).id,
          which: chance.is(0.5) ? ('selected' as const) : ('notSelected' as const),
        },
      }),
  };
}

export function randomCondition(chance: Chance, about: readonly Question[], level = 1): Condition {
  const inner = () => randomCondition(chance, about, level + 1);
  const list = () => Array.from({ length: 1 + chance.below(3) }, inner);
  if (level < 5 && chance.is(0.35))
    return chance.weighted<() => Condition>([
      [2, () => ({ all: list() })],
      [2, () => ({ any: list() })],
      [1, () => ({ not: inner() })],
    ])();
  return chance.weighted<() => Condition>([
    [12, () => randomLeaf(chance, chance.pick(about))],
    [1, () => ({ language: [chance.pick(['en', 'DE', 'zh-hant'])] })],
    [1, () => ({ metadata: 'source', operator: 'containsText', value: randomText(chance) })],
    [1, () => ({ metadata: 'source', operator: chance.pick(['answered', 'notAnswered']) })],
    [1, () => ({ invitation: 'group', operator: 'equalsText', value: randomText(chance) })],
  ])();
}

export function randomLeaf(chance: Chance, question: Question): AnswerLeaf {
  const row = chance.pick([undefined, ...question.rows.map(({ id }) => id)]);
  if (chance.is(0.25)) {
    const operator = chance.pick(['answered', 'notAnswered'] as const);
    return { questionId: question.id, operator, ...(row !== undefined && { rowId: row }) };
  }
  const rowId = row ?? question.rows[0]?.id;
  return {
    questionId: question.id,
    ...(rowId !== undefined && { rowId }),
    ...randomTest(chance, question),
  } as AnswerLeaf;
}

function randomTest(chance: Chance, question: Question): AnswerTest {
  const ids = question.options.map(({ id }) => id);
  const some = () => [...new Set([chance.pick(ids), chance.pick(ids)])];
  const one = (): AnswerTest => ({
    operator: chance.pick(['isAnyOf', 'isNoneOf'] as const),
    optionIds: question.settings['allowOther'] === true && chance.is(0.4) ? ['other'] : some(),
  });
  const several = (): AnswerTest =>
    chance.is(0.25)
      ? { operator: 'countBetween', min: chance.below(3), max: 2 + chance.below(2) }
      : { operator: chance.pick(['includesAny', 'includesAll', 'includesNone'] as const), optionIds: some() };
  const ordered = <T extends number | string>(value: () => T): AnswerTest => {
    const [min = value(), max = value()] = [value(), value()].sort((a, b) => (a < b ? -1 : 1));
    return chance.weighted<AnswerTest>([
      [1, { operator: 'between', min, max }],
      [1, { operator: 'between', min }],
      [1, { operator: 'between', max }],
      [1, { operator: 'equals', value: min }],
      [1, { operator: 'notEquals', value: min }],
    ]);
  };
  switch (question.type) {
    case 'MULTIPLE_CHOICE':
    case 'DROPDOWN':
    case 'YES_NO':
      return one();
    case 'CHECKBOXES':
      return several();
    case 'MATRIX':
      return question.settings['multiple'] === true ? several() : one();
    case 'RANKING':
      return { operator: 'rankedAtMost', optionId: chance.pick(ids), rank: 1 + chance.below(4) };
    case 'LIKERT_SCALE':
      return chance.is(0.5) ? one() : ordered(() => chance.pick(openPoints(question)));
    case 'DATE':
      return ordered(() => randomDay(chance));
    case 'TIME':
      return ordered(() => chance.pick(['08:30', '08:30:00', '12:00:01', '23:59']));
    case 'SHORT_TEXT':
    case 'LONG_TEXT':
    case 'EMAIL':
      return {
        operator: chance.pick(['equalsText', 'containsText', 'startsWithText'] as const),
        value: question.type === 'EMAIL' ? chance.pick(['ANT', 'bee@', 'example.org']) : randomText(chance),
      };
    default:
      return ordered(() => randomNumber(chance, question));
  }
}

/** On a scale of tenths also sums that miss the point by a rounding error. */
function randomNumber(chance: Chance, { type }: Question): number {
  if (type === 'SLIDER') return chance.is(0.3) ? 0.1 + 0.2 : chance.below(11) / 10;
  return type === 'RATING_SCALE' ? 1 + chance.below(5) : chance.below(11);
}

const randomDay = (chance: Chance): string => `2024-0${1 + chance.below(3)}-1${chance.below(3)}`;

/** Texts that are the same or not by folding and composition. */
const randomText = (chance: Chance): string => {
  const text = Array.from({ length: 1 + chance.below(2) }, () =>
    chance.pick(['ß', 'ss', 'SS', 'ẞ', 'ς', 'σ', 'Σ', 'é', 'e\u0301', 'E\u0301', 'É', 'A', 'a']),
  ).join('');
  return chance.is(0.2) ? ` ${text} ` : text;
};

function randomAnswers(chance: Chance, question: Question): GivenAnswer[] {
  if (chance.is(0.3)) return [];
  return randomValues(chance, question).map((value) => ({ questionId: question.id, ...value }));
}

function randomValues(chance: Chance, question: Question): Omit<GivenAnswer, 'questionId'>[] {
  const { type, options, rows, settings } = question;
  const some = (items: readonly Option[]) => items.filter(() => chance.is(0.5));
  const one = () => ({ optionId: chance.pick(options).id });
  switch (type) {
    case 'MULTIPLE_CHOICE':
    case 'DROPDOWN':
      return settings['allowOther'] === true && chance.is(0.3) ? [{ textValue: 'Something else' }] : [one()];
    case 'YES_NO':
      return chance.is(0.5) ? [one()] : [{ textValue: chance.pick(['yes', 'no']) }];
    case 'LIKERT_SCALE':
      return chance.is(0.5) ? [one()] : [{ numberValue: chance.pick(openPoints(question)) }];
    case 'CHECKBOXES':
      return some(options).map(({ id }) => ({ optionId: id }));
    case 'MATRIX':
      return some(rows).flatMap((row) =>
        (settings['multiple'] === true ? some(options) : [chance.pick(options)]).map((option) => ({
          rowId: row.id,
          optionId: option.id,
        })),
      );
    case 'RANKING': {
      const ranked = some(options).sort(() => (chance.is(0.5) ? 1 : -1));
      const withRanks = chance.is(0.5);
      return ranked.map(({ id }, index) => ({ optionId: id, ...(withRanks && { rank: index + 1 }) }));
    }
    case 'DATE':
      return [{ textValue: randomDay(chance) }];
    case 'TIME':
      return [{ textValue: chance.pick(['08:30', '12:00:01', '23:59:00']) }];
    case 'EMAIL':
      return [{ textValue: chance.pick(['ant@example.org', 'Bee@example.com']) }];
    case 'SHORT_TEXT':
    case 'LONG_TEXT':
      return [{ textValue: chance.is(0.1) ? '  ' : randomText(chance) }];
    default:
      return [{ numberValue: randomNumber(chance, question) }];
  }
}
