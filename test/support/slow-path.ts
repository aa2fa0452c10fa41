import type { Condition, TextTest } from '../../src/domain/path/definition.ts';
import type { Path } from '../../src/domain/path/path.ts';
import type { GivenAnswer } from '../../src/domain/questions/contract.ts';
import { pointsOf } from '../../src/domain/questions/ordered-options.ts';
import {
  type Option,
  type Question,
  type SurveyWithQuestions,
  visibleOptions,
  visibleRows,
} from '../../src/domain/survey.ts';

/**
 * The path as the contract words it, slowly: everything by id and by search, nothing prepared, nothing kept. Without
 * shuffling. Shares no code with `src/domain/path`.
 */
export function slowPath(survey: SurveyWithQuestions, answers: readonly GivenAnswer[], came: Came): Path {
  const line = lineOf(survey);
  const path: Shown[] = [];
  let goal: string | undefined;
  let isScreenedOut = false;
  for (const question of line.flatMap((item) => ('question' in item ? [item.question] : []))) {
    if (goal !== undefined && placeOf(line, question.id) < placeOf(line, goal)) continue;
    goal = undefined;
    const section = (survey.sections ?? []).find(({ id }) => id === question.sectionId);
    const holds = (condition: Condition | null | undefined) => !condition || isTrue(condition, path, came);
    if (!holds(section?.visibleIf) || !holds(question.visibleIf)) continue;
    const isGrid = question.type === 'MATRIX';
    const options = visibleOptions(question).filter(
      (item) => holds(item.visibleIf) && (isGrid || isLeft(survey, question, item, path)),
    );
    const rows = visibleRows(question).filter((item) => holds(item.visibleIf) && isLeft(survey, question, item, path));
    if (visibleOptions(question).length > 0 && options.length === 0) continue;
    if (isGrid && rows.length === 0) continue;
    path.push({ question, options, rows, answer: answerTo(question, options, rows, answers) });
    const skip = (question.skips ?? []).find((candidate) => isTrue(candidate.if, path, came));
    if (skip?.to === 'SCREEN_OUT') isScreenedOut = true;
    if (skip?.to === 'SCREEN_OUT' || skip?.to === 'END') break;
    goal = skip?.to;
  }
  return summary(survey, path, isScreenedOut);
}

/** What came with the respondent. */
export interface Came {
  metadata: Record<string, string>;
  invitation: Record<string, string>;
  language: string;
}

interface Shown {
  question: Question;
  options: Option[];
  rows: Option[];
  answer: Answer | undefined;
}

/** Ids of chosen options, by row where there are rows; ranks; number; text. */
interface Answer {
  chosen: string[];
  rows: Record<string, string[]>;
  ranks: Record<string, number>;
  number?: number;
  text?: string;
  other?: string;
}

type Item = { id: string } & ({ section: true } | { question: Question });

/** Sections and questions in one line, in the designed order. */
function lineOf(survey: SurveyWithQuestions): Item[] {
  const shown = survey.questions.filter(({ isHidden }) => !isHidden);
  const sections = survey.sections ?? [];
  const items = (sectionId: string | undefined) =>
    shown
      .filter(
        (question) =>
          (sections.some(({ id }) => id === question.sectionId) ? question.sectionId : undefined) === sectionId,
      )
      .map((question): Item => ({ id: question.id, question }));
  return [...items(undefined), ...sections.flatMap(({ id }): Item[] => [{ id, section: true }, ...items(id)])];
}

const placeOf = (line: readonly Item[], id: string): number => line.findIndex((item) => item.id === id);

/** Whether `optionsFrom` leaves an option or row. */
function isLeft(survey: SurveyWithQuestions, question: Question, item: Option, path: readonly Shown[]): boolean {
  const { optionsFrom } = question;
  if (!optionsFrom) return true;
  const source = survey.questions.find(({ id }) => id === optionsFrom.questionId);
  const counterpart = source && visibleOptions(source).find(({ value }) => value === item.value);
  if (!counterpart) return item.isAnchored === true;
  const shown = path.find((step) => step.question.id === optionsFrom.questionId);
  if (!shown?.options.some(({ id }) => id === counterpart.id)) return false;
  const isSelected =
    shown.answer !== undefined &&
    (shown.answer.chosen.includes(counterpart.id) || counterpart.id in shown.answer.ranks);
  return isSelected === (optionsFrom.which === 'selected');
}

function answerTo(
  question: Question,
  options: readonly Option[],
  rows: readonly Option[],
  all: readonly GivenAnswer[],
): Answer | undefined {
  const given = all.filter(({ questionId }) => questionId === question.id);
  const offers = (id: string | undefined) => options.some((option) => option.id === id);
  const answer: Answer = { chosen: [], rows: {}, ranks: {} };
  for (const { optionId, rowId, rank, numberValue, textValue } of given) {
    if (question.type === 'MATRIX') {
      if (rowId !== undefined && optionId !== undefined && offers(optionId) && rows.some(({ id }) => id === rowId))
        answer.rows[rowId] = [...(answer.rows[rowId] ?? []), optionId];
    } else if (question.type === 'RANKING') {
      if (optionId !== undefined && offers(optionId))
        answer.ranks[optionId] = rank ?? given.findIndex((other) => other.optionId === optionId) + 1;
    } else if (question.type === 'LIKERT_SCALE') {
      const points = pointsOf(question);
      const option = question.options.find(
        ({ id, code, isHidden }) =>
          id === optionId || (!isHidden && numberValue !== undefined && points.get(code) === numberValue),
      );
      if (option && offers(option.id)) {
        answer.chosen = [option.id];
        answer.number = points.get(option.code) as number;
      }
    } else if (question.type === 'YES_NO') {
      const option = question.options.find(({ id, value }) => id === optionId || value === textValue);
      if (option && offers(option.id)) answer.chosen = [option.id];
    } else if (optionId !== undefined) {
      if (offers(optionId)) answer.chosen.push(optionId);
    } else if (numberValue !== undefined) answer.number = numberValue;
    else if (question.type === 'MULTIPLE_CHOICE' || question.type === 'DROPDOWN') answer.other = textValue as string;
    else if (textValue !== undefined && textValue.trim() !== '') answer.text = textValue;
  }
  if (given.some(({ optionId }) => !offers(optionId)))
    for (const [index, [optionId]] of Object.entries(answer.ranks)
      .sort(([, one], [, other]) => one - other)
      .entries())
      answer.ranks[optionId] = index + 1;
  const isEmpty =
    answer.chosen.length === 0 &&
    Object.keys(answer.rows).length === 0 &&
    Object.keys(answer.ranks).length === 0 &&
    answer.number === undefined &&
    answer.text === undefined &&
    answer.other === undefined;
  return isEmpty ? undefined : answer;
}

function isTrue(condition: Condition, path: readonly Shown[], came: Came): boolean {
  if ('all' in condition) return !condition.all.some((inner) => !isTrue(inner, path, came));
  if ('any' in condition) return condition.any.filter((inner) => isTrue(inner, path, came)).length > 0;
  if ('not' in condition) return !isTrue(condition.not, path, came);
  if ('language' in condition) {
    // The second names the script too: zh-HK is zh-Hant-HK.
    const own = [came.language, new Intl.Locale(came.language).maximize().toString()];
    return condition.language.some((tag) => {
      const parts = tag.toLowerCase().split('-');
      return own
        .map((form) => form.toLowerCase().split('-'))
        .some((form) => parts.every((part, n) => form[n] === part));
    });
  }
  if ('metadata' in condition || 'invitation' in condition) {
    const value = 'metadata' in condition ? came.metadata[condition.metadata] : came.invitation[condition.invitation];
    if (condition.operator === 'answered') return value !== undefined;
    if (condition.operator === 'notAnswered') return value === undefined;
    return value !== undefined && textMatches(condition.operator, value, (condition as TextTest).value);
  }
  const shown = path.find(({ question }) => question.id === condition.questionId);
  const answer = shown?.answer;
  const chosen = condition.rowId === undefined ? (answer?.chosen ?? []) : (answer?.rows[condition.rowId] ?? []);
  const isAnswered = condition.rowId === undefined ? answer !== undefined : chosen.length > 0;
  if (!isAnswered || !answer)
    return ['notAnswered', 'isNoneOf', 'includesNone', 'notEquals'].includes(condition.operator);
  const type = shown?.question.type ?? '';
  switch (condition.operator) {
    case 'answered':
      return true;
    case 'notAnswered':
      return false;
    case 'isAnyOf':
      return isOneOf(condition.optionIds, chosen, answer);
    case 'isNoneOf':
      return !isOneOf(condition.optionIds, chosen, answer);
    case 'includesAny':
      return condition.optionIds.some((id) => chosen.includes(id));
    case 'includesNone':
      return !condition.optionIds.some((id) => chosen.includes(id));
    case 'includesAll':
      return condition.optionIds.every((id) => chosen.includes(id));
    case 'countBetween':
      return chosen.length >= (condition.min ?? 0) && chosen.length <= (condition.max ?? 1000);
    case 'rankedAtMost':
      return (answer.ranks[condition.optionId] ?? Number.POSITIVE_INFINITY) <= condition.rank;
    case 'between':
      return (
        (condition.min === undefined || compare(type, answer, condition.min) >= 0) &&
        (condition.max === undefined || compare(type, answer, condition.max) <= 0)
      );
    case 'equals':
      return compare(type, answer, condition.value) === 0;
    case 'notEquals':
      return compare(type, answer, condition.value) !== 0;
    default:
      return textMatches(condition.operator, answer.text ?? '', condition.value);
  }
}

const isOneOf = (ids: readonly string[], chosen: readonly string[], answer: Answer): boolean =>
  ids.some((id) => (id === 'other' ? answer.other !== undefined : chosen.includes(id)));

function compare(type: string, answer: Answer, value: number | string): number {
  if (typeof value === 'number') {
    const difference = (answer.number ?? Number.NaN) - value;
    return Math.abs(difference) < 1e-9 ? 0 : difference;
  }
  const [own, other] = [answer.text ?? '', value].map((text) =>
    type === 'TIME' ? seconds(text) : Date.parse(`${text}T00:00:00Z`),
  );
  return (own as number) - (other as number);
}

function seconds(time: string): number {
  const [hours = 0, minutes = 0, rest = 0] = time.split(':').map(Number);
  return hours * 3600 + minutes * 60 + rest;
}

/** Enough for the letters that the random texts have. */
const folds: Readonly<Record<string, string>> = {
  ß: 'ss',
  ẞ: 'ss',
  ς: 'σ',
  Σ: 'σ',
  É: 'é',
  'E\u0301': 'é',
  'e\u0301': 'é',
};

const fold = (text: string): string =>
  text
    .trim()
    .replace(/e\u0301|[ßẞςΣÉ]|E\u0301/g, (letter) => folds[letter] ?? letter)
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase());

function textMatches(operator: string, text: string, value: string): boolean {
  if (operator === 'equalsText') return fold(text) === fold(value);
  return operator === 'containsText' ? fold(text).includes(fold(value)) : fold(text).startsWith(fold(value));
}

function summary(survey: SurveyWithQuestions, path: readonly Shown[], isScreenedOut: boolean): Path {
  const isDone = ({ question, rows, answer }: Shown) =>
    answer !== undefined && (question.type !== 'MATRIX' || rows.every(({ id }) => id in answer.rows));
  const undone = path.filter((shown) => shown.question.isRequired && !isDone(shown));
  const last = path.reduce((latest, { answer }, index) => (answer ? index : latest), -1);
  const open = [...path.slice(last + 1), ...undone];
  const outcome = isScreenedOut && undone.length === 0 ? 'SCREENED_OUT' : open.length > 0 ? 'OPEN' : 'COMPLETE';
  const ids = [null, ...(survey.sections ?? []).map(({ id }) => id)];
  const pages = ids.map((id) => ({
    id,
    questions: path
      .filter(({ question }) => (ids.includes(question.sectionId ?? null) ? (question.sectionId ?? null) : null) === id)
      .map(({ question, options, rows }) => ({
        id: question.id,
        optionIds: options.map((option) => option.id),
        rowIds: rows.map((row) => row.id),
        isRequired: question.isRequired,
      })),
  }));
  return {
    sections: pages.filter(({ questions }) => questions.length > 0),
    next: outcome === 'OPEN' ? (open[0]?.question.id ?? null) : null,
    outcome,
    progress: outcome === 'OPEN' ? path.filter(({ answer }) => answer).length / path.length : 1,
  };
}
