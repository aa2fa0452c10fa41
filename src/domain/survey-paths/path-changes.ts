import { Problem, type ValidationIssue, validationProblem } from '../../errors.ts';
import type { Appearance } from '../appearance.ts';
import type { Section } from '../path/definition.ts';
import { type Placeholder, partsOf } from '../path/placeholders.ts';
import type { Option, Question, SurveyWithQuestions } from '../survey.ts';
import { checkElements, type ElementIssue, leavesIssue, placeholderIssue, surveyLeaves } from './path-checks.ts';
import { type BesideSurvey, type ElementPlace, elementsOf, type PathElement } from './path-elements.ts';

/** What a change would break: where it stands, and why. As `details.broken` of a refusal shows it. */
export interface BrokenElement extends ElementPlace {
  /** Path of the element in its question or section (`skips.0`), after the change. */
  field: string;
  /** `questions.ID.skips.0.to` */
  path: string;
  message: string;
}

interface Change {
  before: SurveyWithQuestions;
  after: SurveyWithQuestions;
  beside?: BesideSurvey | undefined;
}

/**
 * The survey after a change. Throws VALIDATION_ERROR if what was given anew is wrong, and CONFLICT with the reason
 * CONDITION_BROKEN if what stays as it was no longer works; with `removeConditions` that is removed instead. Quotas and
 * translations in `beside` are only looked at: the caller removes theirs (`brokenBy`).
 */
export function settledPaths(
  before: SurveyWithQuestions,
  after: SurveyWithQuestions,
  { removeConditions, beside }: { removeConditions: boolean; beside?: BesideSurvey },
): SurveyWithQuestions {
  const { issues, broken } = judgeChange({ before, after, beside });
  if (issues.length > 0) throw validationProblem(issues);
  if (broken.length === 0) return after;
  if (removeConditions) return withoutBroken(after, broken);
  throw new Problem('CONFLICT', conflictMessage(broken), { details: { reason: 'CONDITION_BROKEN', broken } });
}

function conflictMessage(broken: readonly BrokenElement[]): string {
  const others = broken.length > 1 ? ` and ${broken.length - 1} more` : '';
  return `This would break ${broken[0]?.path ?? ''}${others}; with removeConditions=true that is removed with it`;
}

/** Issues of what a change gives anew, and what it breaks of the rest. */
function judgeChange({ before, after, beside }: Change): { issues: ValidationIssue[]; broken: BrokenElement[] } {
  const found = checkElements(after, elementsOf(after, beside));
  const tooMany = surveyLeaves(after) > surveyLeaves(before) ? leavesIssue(after) : undefined;
  if (found.length === 0) return { issues: tooMany ? [tooMany] : [], broken: [] };
  const former = createElementLookup(elementsOf(before, beside));
  const [given, unchanged] = [[] as ElementIssue[], [] as [ElementIssue, PathElement][]];
  for (const issue of found) {
    const same = former(issue.element);
    if (same) unchanged.push([issue, same]);
    else given.push(issue);
  }
  // What did not work before is not broken by this change.
  const wrongBefore = new Set(
    checkElements(before, [...new Set(unchanged.map(([, same]) => same))]).map(({ element }) => element),
  );
  const broken = unchanged.filter(([, same]) => !wrongBefore.has(same)).map(([issue]) => brokenElement(issue));
  return { issues: [...givenIssues(given), ...(tooMany ? [tooMany] : [])], broken };
}

/** What a change breaks of what it leaves as it was. */
export const brokenBy = (before: SurveyWithQuestions, after: SurveyWithQuestions, beside?: BesideSurvey) =>
  judgeChange({ before, after, beside }).broken;

function brokenElement({ element: { place, owner, field }, path, message }: ElementIssue): BrokenElement {
  return { ...place, field, path: owner === '' ? path : `${owner}.${path}`, message };
}

/** Paths are those in the body if one question or section was changed. */
function givenIssues(issues: readonly ElementIssue[]): ValidationIssue[] {
  const isOneOwner = new Set(issues.map(({ element }) => element.owner)).size === 1;
  return issues.map(({ element, path, message }) => ({
    path: isOneOwner || element.owner === '' ? path : `${element.owner}.${path}`,
    message,
  }));
}

/** Finds the element that was the same before. Skips and items may have moved in their lists. */
function createElementLookup(elements: readonly PathElement[]): (element: PathElement) => PathElement | undefined {
  const byKey = new Map(elements.map((element) => [keyOf(element), element]));
  return (element) => byKey.get(keyOf(element));
}

function keyOf(element: PathElement): string {
  const { place, owner, field, ...content } = element;
  // Texts of an option are told apart by its id, others by their field.
  const isItem = place.optionId !== undefined || place.rowId !== undefined;
  return JSON.stringify([place, owner, isItem || 'skip' in content ? '' : field, content]);
}

/** The survey without what is broken: conditions, skips and `optionsFrom` go, placeholders become their fallbacks. */
export function withoutBroken(survey: SurveyWithQuestions, broken: readonly BrokenElement[]): SurveyWithQuestions {
  const own = broken.filter(({ kind, language }) => kind !== 'quota' && language === undefined);
  if (own.length === 0) return survey;
  const ofSection = (id: string) => own.filter(({ sectionId }) => sectionId === id);
  const ofQuestion = (id: string) => own.filter(({ questionId }) => questionId === id);
  return {
    ...survey,
    ...(survey.sections && {
      sections: survey.sections.map((item) => repairSection(survey, item, ofSection(item.id))),
    }),
    questions: survey.questions.map((item) => repairQuestion(survey, item, ofQuestion(item.id))),
    ...repairTexts(survey, { title: survey.title, description: survey.description }, own.filter(isOfSurvey)),
    ...(survey.appearance && { appearance: repairAppearance(survey, survey.appearance, own) }),
  };
}

/** The survey without the conditions of these options that name what is not there. */
export function withoutBrokenConditions(
  survey: SurveyWithQuestions,
  optionIds: ReadonlySet<string>,
): SurveyWithQuestions {
  const conditions = elementsOf(survey).filter(
    ({ place: { kind, optionId = '' } }) => kind === 'visibleIf' && optionIds.has(optionId),
  );
  return withoutBroken(survey, checkElements(survey, conditions).map(brokenElement));
}

const isOfSurvey = ({ sectionId, questionId }: ElementPlace): boolean =>
  sectionId === undefined && questionId === undefined;

function repairAppearance(
  survey: SurveyWithQuestions,
  appearance: Appearance,
  broken: readonly BrokenElement[],
): Appearance {
  const place = broken.find(({ kind }) => kind === 'closingText');
  const { closingText } = appearance;
  return place && closingText !== null
    ? { ...appearance, closingText: withoutBrokenPlaceholders(survey, place, closingText) }
    : appearance;
}

function repairSection(survey: SurveyWithQuestions, section: Section, broken: readonly BrokenElement[]): Section {
  if (broken.length === 0) return section;
  const { title, description } = section;
  return {
    ...section,
    ...repairTexts(survey, { title, description }, broken),
    visibleIf: broken.some(({ kind }) => kind === 'visibleIf') ? null : section.visibleIf,
  };
}

function repairQuestion(survey: SurveyWithQuestions, question: Question, broken: readonly BrokenElement[]): Question {
  if (broken.length === 0) return question;
  const { visibleIf, skips, optionsFrom, ...rest } = question;
  const itsOwn = broken.filter(({ optionId, rowId }) => optionId === undefined && rowId === undefined);
  const isBroken = (kind: ElementPlace['kind']) => itsOwn.some((item) => item.kind === kind);
  const keptSkips = skips?.filter((_, index) => !itsOwn.some(({ field }) => field === `skips.${index}`)) ?? [];
  const items = (list: readonly Option[]) =>
    list.map((item) =>
      repairItem(
        survey,
        item,
        broken.filter(({ optionId, rowId }) => (optionId ?? rowId) === item.id),
      ),
    );
  return {
    ...rest,
    ...repairTexts(survey, { text: question.text, description: question.description }, itsOwn),
    options: items(question.options),
    rows: items(question.rows),
    ...(visibleIf && !isBroken('visibleIf') && { visibleIf }),
    ...(keptSkips.length > 0 && { skips: keptSkips }),
    ...(optionsFrom && !isBroken('optionsFrom') && { optionsFrom }),
  };
}

function repairItem(survey: SurveyWithQuestions, item: Option, broken: readonly BrokenElement[]): Option {
  if (broken.length === 0) return item;
  const { visibleIf, ...rest } = item;
  const text = broken.find(({ kind }) => kind === 'text');
  return {
    ...rest,
    ...(text && { text: withoutBrokenPlaceholders(survey, text, item.text) }),
    ...(visibleIf && !broken.some(({ kind }) => kind === 'visibleIf') && { visibleIf }),
  };
}

/** Those of the texts that are broken, repaired. */
function repairTexts<T extends Readonly<Record<string, string | null>>>(
  survey: SurveyWithQuestions,
  texts: T,
  broken: readonly BrokenElement[],
): T {
  const repaired = Object.entries(texts).map(([field, text]) => {
    const place = broken.find((item) => item.kind === 'text' && item.field === field);
    return [field, place && text !== null ? withoutBrokenPlaceholders(survey, place, text) : text];
  });
  return Object.fromEntries(repaired) as T;
}

/** A text whose broken placeholders are replaced by their fallbacks; an ellipsis where nothing would be left. */
export function withoutBrokenPlaceholders(survey: SurveyWithQuestions, place: ElementPlace, text: string): string {
  const keep = (part: Placeholder) =>
    placeholderIssue(survey, place, part.source) === undefined ? part.source : part.fallback;
  const repaired = partsOf(text)
    .map((part) => (typeof part === 'string' ? part : keep(part)))
    .join('');
  return repaired.trim() === '' ? '…' : repaired;
}
