import type { ValidationIssue } from '../../errors.ts';
import { oncePerObject } from '../once-per-object.ts';
import type { AnswerKind } from '../path/answer-kinds.ts';
import { withSeconds } from '../path/answers.ts';
import {
  type AnswerLeaf,
  type Condition,
  invitationKeyOf,
  type KeySubject,
  type LanguageLeaf,
  type OptionsFrom,
  otherOption,
  type Skip,
  skipToEnd,
  skipToScreenOut,
} from '../path/definition.ts';
import { fittingOperators, givesOptions } from '../path/operators.ts';
import { type Placeholder, placeholdersIn } from '../path/placeholders.ts';
import { type QuestionShape, shapeOf } from '../path/question-shape.ts';
import { indexOn, pointAt, pointCount, type Scale } from '../path/scale-points.ts';
import { isCalendarDay, isClockTime } from '../questions/text-checks.ts';
import type { SurveyWithQuestions } from '../survey.ts';
import { pathDefinitionOf } from './path-definition.ts';
import {
  type BesideSurvey,
  conditionOf,
  type ElementPlace,
  elementsOf,
  leavesOf,
  type PathElement,
  type TranslatedTexts,
} from './path-elements.ts';

/**
 * Checks what conditions, skips, `optionsFrom` and texts name: whether it exists, stands earlier (a skip's target:
 * later) and fits. Their form was checked when they were sent (`path-inputs.ts`).
 */

/** Leaves of all conditions of a survey together; conditions of quotas do not count. */
export const surveyLeavesAtMost = 2000;

/** An issue of an element; `path` is that in its owner, as in the body of a call (`skips.0.if.questionId`). */
export interface ElementIssue extends ValidationIssue {
  element: PathElement;
}

/** One path of several parts, any of which may be empty. */
const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('.');

/** All issues of a survey; paths begin with the owner (`questions.ID.skips.0.to`). */
export function checkPaths(survey: SurveyWithQuestions, beside: BesideSurvey = {}): ValidationIssue[] {
  const issues = checkElements(survey, elementsOf(survey, beside)).map(({ path, message, element }) => ({
    path: joined(element.owner, path),
    message,
  }));
  const tooMany = leavesIssue(survey);
  return tooMany ? [...issues, tooMany] : issues;
}

/** The issues of some of a survey's elements. */
export function checkElements(survey: SurveyWithQuestions, elements: readonly PathElement[]): ElementIssue[] {
  if (elements.length === 0) return [];
  const check = elementCheckOf(survey);
  return elements.flatMap((element) =>
    check(element).map(({ path, message }) => ({
      path: joined(element.field, path),
      message,
      element,
    })),
  );
}

/** What is wrong with the placeholders of a translation, by key of the string. */
export function checkTranslation(
  survey: SurveyWithQuestions,
  strings: TranslatedTexts['strings'],
): { key: string; message: string }[] {
  const elements = elementsOf(survey, { translations: [{ language: '', strings }] }).filter(
    ({ place }) => place.language !== undefined,
  );
  return checkElements(survey, elements).map(({ element, message }) => ({ key: element.field, message }));
}

/** Whether a text in a translation names only what it may: the message, or undefined. */
export function placeholderIssue(survey: SurveyWithQuestions, place: ElementPlace, text: string) {
  if (!text.includes('{{')) return undefined;
  const check = elementCheckOf(survey);
  return check({ text, place, owner: '', field: '' })[0]?.message;
}

export function leavesIssue(survey: SurveyWithQuestions): ValidationIssue | undefined {
  return surveyLeaves(survey) > surveyLeavesAtMost
    ? { path: '', message: `the conditions of a survey may have ${surveyLeavesAtMost} leaves together` }
    : undefined;
}

export function surveyLeaves(survey: SurveyWithQuestions): number {
  return elementsOf(survey).reduce((sum, element) => {
    const condition = conditionOf(element);
    return condition ? sum + leavesOf(condition).length : sum;
  }, 0);
}

interface Known {
  shape: QuestionShape;
  allowsOther: boolean;
  /** Place in the designed order, and of its section; −1 before the first. */
  index: number;
  section: number;
}

/** What an element may name. */
interface Scope {
  /** Questions of smaller index; Infinity: all. */
  before: number;
  section: number;
  /** Index of the question it belongs to; −1 for others. */
  own: number;
}

const anyQuestion: Scope = { before: Number.POSITIVE_INFINITY, section: -1, own: -1 };

type ElementCheck = (element: PathElement) => ValidationIssue[];

/** Cached by survey object: texts are checked one by one, and there may be thousands. */
const elementCheckOf = oncePerObject(createElementCheck);

function createElementCheck(survey: SurveyWithQuestions): ElementCheck {
  const sections = survey.sections ?? [];
  const sectionPlaces = new Map(sections.map(({ id }, place) => [id, place]));
  const sectionOf = (sectionId: string | null | undefined) => sectionPlaces.get(sectionId ?? '') ?? -1;
  const placed = pathDefinitionOf(survey)
    .questions.map((question) => ({ question, section: sectionOf(question.sectionId) }))
    .sort((one, other) => one.section - other.section);
  const known = new Map(
    placed.map(({ question, section }, index): [string, Known] => [
      question.id,
      { shape: shapeOf(question), allowsOther: question.settings['allowOther'] === true, index, section },
    ]),
  );
  const sectionStart = (place: number) => {
    const start = placed.findIndex(({ section }) => section >= place);
    return start < 0 ? placed.length : start;
  };

  function scopeOf({ kind, questionId, sectionId }: ElementPlace): Scope {
    if (kind === 'quota' || kind === 'closingText') return anyQuestion;
    const question = questionId === undefined ? undefined : known.get(questionId);
    if (question)
      return { before: question.index + (kind === 'skip' ? 1 : 0), section: question.section, own: question.index };
    if (sectionId === undefined) return { before: 0, section: -1, own: -1 };
    return { before: sectionStart(sectionOf(sectionId)), section: sectionOf(sectionId), own: -1 };
  }

  /** Why two places may not refer to each other; undefined if they may. */
  function shuffleProblem(scope: Scope, section: number): string | undefined {
    if (scope.section < 0 || section < 0) return undefined;
    if (scope.section !== section)
      return survey.isShuffled === true ? 'its section is shuffled with this one' : undefined;
    return sections[section]?.isShuffled === true ? 'it is shuffled with this one' : undefined;
  }

  function questionProblem(scope: Scope, question: Known | undefined): string | undefined {
    if (!question) return 'is not a question of this survey';
    if (question.index >= scope.before) return 'must be an earlier question';
    return scope === anyQuestion || question.index === scope.own ? undefined : shuffleProblem(scope, question.section);
  }

  function checkCondition(condition: Condition, scope: Scope, path: string): ValidationIssue[] {
    const inside = (inner: Condition, step: string) => checkCondition(inner, scope, joined(path, step));
    if ('all' in condition) return condition.all.flatMap((inner, index) => inside(inner, `all.${index}`));
    if ('any' in condition) return condition.any.flatMap((inner, index) => inside(inner, `any.${index}`));
    if ('not' in condition) return inside(condition.not, 'not');
    if (!('questionId' in condition)) {
      const spelling = keyProblem(condition);
      if (spelling !== undefined) return [{ path: joined(path, 'metadata'), message: spelling }];
      // An anonymous survey keeps nothing of invitations, so a count of its stored responses could not evaluate it.
      const isLost = scope === anyQuestion && survey.isAnonymous && 'invitation' in condition;
      const message = 'cannot be counted: an anonymous survey keeps nothing of invitations';
      return isLost ? [{ path: joined(path, 'invitation'), message }] : [];
    }
    const question = known.get(condition.questionId);
    const message = questionProblem(scope, question);
    const found = message === undefined && question ? leafProblem(condition, question) : undefined;
    const issue = message === undefined ? found : { path: 'questionId', message };
    return issue ? [{ ...issue, path: joined(path, issue.path) }] : [];
  }

  function checkSkip({ if: condition, to }: Skip, scope: Scope): ValidationIssue[] {
    const message = targetProblem(to, scope);
    return [...checkCondition(condition, scope, 'if'), ...(message === undefined ? [] : [{ path: 'to', message }])];
  }

  function targetProblem(to: string, scope: Scope): string | undefined {
    if (to === skipToEnd || to === skipToScreenOut) return undefined;
    const question = known.get(to);
    const section = question?.section ?? sectionPlaces.get(to);
    if (section === undefined) return 'is not a question or section of this survey';
    const isLater = question ? question.index > scope.own : section > scope.section;
    return isLater ? shuffleProblem(scope, section) : 'must be a later question or section';
  }

  function checkOptionsFrom({ questionId }: OptionsFrom, scope: Scope, own: Known | undefined): ValidationIssue[] {
    if (!own || !takesOptions.includes(own.shape.kind))
      return [{ path: '', message: 'needs a MULTIPLE_CHOICE, CHECKBOXES, DROPDOWN, MATRIX or RANKING question' }];
    const source = known.get(questionId);
    const message =
      questionProblem(scope, source) ??
      (source && givesOptions(source.shape.kind) ? undefined : 'must be a question with options and no rows');
    return message === undefined ? [] : [{ path: 'questionId', message }];
  }

  function placeholderProblem(placeholder: Placeholder, scope: Scope): string | undefined {
    if ('isMalformed' in placeholder) return 'is not a placeholder';
    if (!('questionId' in placeholder)) return keyProblem(placeholder);
    const question = known.get(placeholder.questionId);
    const message = questionProblem(scope, question);
    if (message !== undefined || !question) return message;
    const { shape } = question;
    if (shape.kind === 'file') return 'is an upload, which a text cannot show';
    if (shape.kind !== 'grid') return placeholder.rowId === undefined ? undefined : 'has no rows';
    if (placeholder.rowId === undefined) return 'is a MATRIX: name one of its rows as well';
    return shape.rowIndexes.has(placeholder.rowId) ? undefined : 'has no such row';
  }

  return (element) => {
    const scope = scopeOf(element.place);
    if ('condition' in element) return checkCondition(element.condition, scope, '');
    if ('skip' in element) return checkSkip(element.skip, scope);
    if ('optionsFrom' in element)
      return checkOptionsFrom(element.optionsFrom, scope, known.get(element.place.questionId ?? ''));
    return placeholdersIn(element.text).flatMap((placeholder) => {
      const message = placeholderProblem(placeholder, scope);
      return message === undefined ? [] : [{ path: '', message: `${placeholder.source} ${message}` }];
    });
  };
}

/** A value of the invitation that is named by the key under which responses store it. */
function keyProblem(subject: KeySubject | LanguageLeaf): string | undefined {
  if (!('metadata' in subject)) return undefined;
  const key = invitationKeyOf(subject);
  return key === undefined ? undefined : `is a value of the invitation: name it as invitation, ${key}`;
}

/** Kinds whose options (for a grid: rows) `optionsFrom` may choose. */
const takesOptions: readonly AnswerKind[] = ['choice', 'choices', 'grid', 'ranks'];

function leafProblem(leaf: AnswerLeaf, question: Known): ValidationIssue | undefined {
  const { shape } = question;
  const isPresence = leaf.operator === 'answered' || leaf.operator === 'notAnswered';
  if (leaf.rowId !== undefined && !shape.rowIndexes.has(leaf.rowId))
    return {
      path: 'rowId',
      message: shape.kind === 'grid' ? 'is not a row of that question' : 'that question has no rows',
    };
  if (isPresence) return undefined;
  const fitting = fittingOperators(shape);
  if (!fitting.includes(leaf.operator)) {
    const possible = ['answered', 'notAnswered', ...fitting].join(', ');
    return { path: 'operator', message: `does not fit that question: ${possible} do` };
  }
  if (shape.kind === 'grid' && leaf.rowId === undefined)
    return { path: 'rowId', message: 'is needed: which row is meant?' };
  return operandProblem(leaf, question);
}

function operandProblem(leaf: AnswerLeaf, { shape, allowsOther }: Known): ValidationIssue | undefined {
  switch (leaf.operator) {
    case 'isAnyOf':
    case 'isNoneOf':
    case 'includesAny':
    case 'includesAll':
    case 'includesNone': {
      const isKnown = (id: string) =>
        shape.optionIndexes.has(id) || (id === otherOption && shape.kind === 'choice' && allowsOther);
      const wrong = leaf.optionIds.findIndex((id) => !isKnown(id));
      return wrong < 0 ? undefined : { path: `optionIds.${wrong}`, message: 'is not an option of that question' };
    }
    case 'countBetween':
      return (leaf.min ?? 0) > shape.options.length
        ? { path: 'min', message: `is more than there are options (${shape.options.length})` }
        : undefined;
    case 'rankedAtMost':
      return shape.optionIndexes.has(leaf.optionId)
        ? undefined
        : { path: 'optionId', message: 'is not an option of that question' };
    case 'between':
      return endsProblem(leaf, shape);
    case 'equals':
    case 'notEquals': {
      const message = valueProblem(leaf.value, shape) ?? (isPoint(leaf.value, shape) ? undefined : noPoint);
      return message === undefined ? undefined : { path: 'value', message };
    }
    default:
      return undefined;
  }
}

const noPoint = 'is not a point of the scale of that question';

function endsProblem(
  { min, max }: Extract<AnswerLeaf, { operator: 'between' }>,
  shape: QuestionShape,
): ValidationIssue | undefined {
  for (const [path, end] of Object.entries({ min, max })) {
    const message = end === undefined ? undefined : valueProblem(end, shape);
    if (message !== undefined) return { path, message };
  }
  if (typeof min === 'string' && typeof max === 'string' && withSeconds(min) > withSeconds(max))
    return { path: 'max', message: 'must not be before min' };
  const low = typeof min === 'number' ? min : Number.NEGATIVE_INFINITY;
  const high = typeof max === 'number' ? max : Number.POSITIVE_INFINITY;
  return hasPointBetween(low, high, shape)
    ? undefined
    : { path: '', message: 'holds no point of the scale of that question' };
}

/** A value of the wrong form for the question. */
function valueProblem(value: number | string, { kind }: QuestionShape): string | undefined {
  if (kind === 'date')
    return typeof value === 'string' && isCalendarDay(value) ? undefined : 'must be a date (YYYY-MM-DD)';
  if (kind === 'time')
    return typeof value === 'string' && isClockTime(value) ? undefined : 'must be a time of day (HH:MM or HH:MM:SS)';
  return typeof value === 'number' ? undefined : 'must be a number';
}

function isPoint(value: number | string, { kind, scale, points }: QuestionShape): boolean {
  if (typeof value !== 'number') return true;
  if (kind === 'points') return points.includes(value);
  return !scale || indexOn(scale, value) !== undefined;
}

function hasPointBetween(low: number, high: number, { kind, scale, points }: QuestionShape): boolean {
  if (kind === 'points') return points.some((point) => point >= low && point <= high);
  return !scale || scaleHasPointBetween(low, high, scale);
}

/** The point at or next above `low` must not lie above `high`. */
function scaleHasPointBetween(low: number, high: number, scale: Scale): boolean {
  const last = pointAt(scale, pointCount(scale) - 1);
  if (low <= scale.min) return high >= scale.min || indexOn(scale, high) !== undefined;
  if (low > last) return indexOn(scale, low) !== undefined;
  const next = indexOn(scale, low) ?? Math.ceil((low - scale.min) / scale.step);
  return pointAt(scale, next) <= high || indexOn(scale, high) === next;
}
