import type { Condition, OptionsFrom, PathDefinition, PathItem, PathQuestion } from '../path/definition.ts';

/** The part of a survey that decides who is asked; `optionsFrom` may be as the author wrote it. */
interface Definition extends Pick<PathDefinition, 'sections'> {
  questions: readonly BranchingQuestion[];
}

type BranchingQuestion = Omit<PathQuestion, 'optionsFrom'> & { optionsFrom?: OptionsFrom | null | undefined };

const choiceTypes = new Set(['MULTIPLE_CHOICE', 'CHECKBOXES', 'DROPDOWN', 'RANKING', 'MATRIX']);

/** Whether a question that is answered by choosing has nothing to choose. */
export function hasNoOptions({ type, options, settings, optionsFrom }: BranchingQuestion): boolean {
  if (!choiceTypes.has(type)) return false;
  if (type === 'MATRIX') return options.length === 0 || (settings.rows?.length === 0 && !optionsFrom);
  return options.length === 0 && !optionsFrom;
}

/**
 * Ids of questions that nobody answers: hidden by a condition that is never true, behind a skip that is always taken, or
 * without anything to choose. A condition that may hold counts as one that does, so nothing is reported wrongly.
 */
export function unreachableQuestions(survey: Definition): ReadonlySet<string> {
  const unreachable = new Set<string>();
  const sections = new Map((survey.sections ?? []).map((section) => [section.id, section]));
  /** Everybody passes over the questions before this place. */
  let passedByAll = 0;
  /** Somebody may pass over the questions before this place. */
  let passedBySome = 0;
  for (const [index, question] of survey.questions.entries()) {
    const section = sections.get(question.sectionId ?? '');
    const isVisible = truthOf({ all: [section?.visibleIf, question.visibleIf].filter((one) => !!one) }, unreachable);
    const isPassed = index < passedByAll || isVisible === false;
    // A question without options is never answered, but it is asked, and its skips count.
    if (isPassed || hasNoOptions(question)) unreachable.add(question.id);
    if (isPassed) continue;
    const isAskedOfAll = index >= passedBySome && isVisible === true && !mayOfferNothing(question);
    const { isTaken, targets } = skipsOf(survey, index, unreachable);
    passedBySome = Math.max(passedBySome, ...targets);
    if (isAskedOfAll && isTaken) passedByAll = Math.min(...targets);
  }
  return unreachable;
}

/** Whether the options or rows that a question offers depend on the respondent, so that it may offer none. */
function mayOfferNothing({ optionsFrom, options, settings: { rows = [] } }: BranchingQuestion): boolean {
  const areConditional = (items: readonly PathItem[]) =>
    items.length > 0 && items.every(({ visibleIf }) => !!visibleIf);
  return !!optionsFrom || areConditional(options) || areConditional(rows);
}

/** Where the skips of a question may lead, and whether one of them is always taken. */
function skipsOf(survey: Definition, index: number, unreachable: ReadonlySet<string>) {
  const targets: number[] = [];
  for (const skip of survey.questions[index]?.skips ?? []) {
    const [truth, target] = [truthOf(skip.if, unreachable), placeOf(survey, skip.to)];
    // Skips backwards have no effect.
    if (truth === false || target <= index) continue;
    targets.push(target);
    if (truth === true) return { isTaken: true, targets };
  }
  return { isTaken: false, targets };
}

/** The index of the question to which a skip leads; that after the last one for the end. */
function placeOf({ questions, sections = [] }: Definition, to: string): number {
  const direct = questions.findIndex(({ id }) => id === to);
  if (direct !== -1) return direct;
  const places = new Map(sections.map(({ id }, place) => [id, place]));
  const section = places.get(to) ?? sections.length;
  const first = questions.findIndex(({ sectionId }) => (places.get(sectionId ?? '') ?? -1) >= section);
  return first === -1 ? questions.length : first;
}

const trueWithoutAnswer = new Set(['notAnswered', 'isNoneOf', 'includesNone', 'notEquals']);

/** Whether a condition is the same for all respondents; undefined: it depends on them. */
function truthOf(condition: Condition, unreachable: ReadonlySet<string>): boolean | undefined {
  if ('not' in condition) {
    const inner = truthOf(condition.not, unreachable);
    return inner === undefined ? undefined : !inner;
  }
  if ('all' in condition || 'any' in condition) {
    const isAll = 'all' in condition;
    const parts = isAll ? condition.all : condition.any;
    const truths = parts.map((part) => truthOf(part, unreachable));
    if (truths.includes(!isAll) || contradicts(parts)) return !isAll;
    return truths.every((truth) => truth === isAll) ? isAll : undefined;
  }
  if ('questionId' in condition && unreachable.has(condition.questionId))
    return trueWithoutAnswer.has(condition.operator);
  return undefined;
}

/** Whether a question is asked for as answered and as not answered. */
function contradicts(parts: readonly Condition[]): boolean {
  const seen = new Map<string, string>();
  for (const part of parts) {
    if (!('questionId' in part) || (part.operator !== 'answered' && part.operator !== 'notAnswered')) continue;
    const subject = `${part.questionId} ${part.rowId ?? ''}`;
    const before = seen.get(subject);
    if (before !== undefined && before !== part.operator) return true;
    seen.set(subject, part.operator);
  }
  return false;
}
