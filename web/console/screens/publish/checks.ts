import type { Condition } from '../../../../src/domain/path/definition.ts';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import type { Definition, Question } from '../../data/questions.ts';
import { readable } from '../../data/wording.ts';

/** Something to look at before publishing, with the address of the view that mends it. */
export interface Finding {
  /** No other finding has it; texts may be alike. */
  key: string;
  text: string;
  href: string;
}

export interface CheckInput {
  survey: Definition;
  quotas: readonly { id: string; name: string; limit: number; isActive: boolean; whenFull: string }[];
  /** Other languages of the survey, with the number of texts that are missing or stale. */
  translations: readonly { language: string; missing: number; stale: number }[];
}

/** What a survey lacks before it is published. None of it forbids publishing. */
export function findingsOf({ survey, quotas, translations }: CheckInput): Finding[] {
  const base = `/surveys/${survey.id}`;
  const found: Finding[] = [];
  const atItem = (id: string) => `${base}/build?item=${id}`;
  if (survey.questions.length === 0)
    found.push({ key: 'questions', text: 'The survey has no questions.', href: `${base}/build` });
  const lacking = survey.questions.filter(hasNoOptions);
  for (const { id, text } of lacking)
    found.push({ key: id, text: `“${readable(text)}” has no options to choose.`, href: atItem(id) });
  const unreachable = unreachableQuestions(survey);
  for (const { id, text } of survey.questions)
    if (unreachable.has(id) && !lacking.some((question) => question.id === id))
      found.push({ key: id, text: `“${readable(text)}” cannot be reached by anybody.`, href: atItem(id) });
  for (const { language, missing, stale } of translations) {
    const name = languageName(language);
    const href = `${base}/languages?language=${language}&show=open`;
    if (missing > 0)
      found.push({ key: `${language} missing`, text: `${name}: ${texts(missing)} not translated.`, href });
    if (stale > 0)
      found.push({
        key: `${language} stale`,
        text: `${name}: ${texts(stale)} translated from an older wording.`,
        href,
      });
  }
  for (const { id, name, limit, isActive, whenFull } of quotas)
    if (isActive && limit === 0 && whenFull !== 'COUNT_ONLY')
      found.push({ key: id, text: `The quota “${name}” has no seats.`, href: `${base}/quotas` });
  return found;
}

const texts = (count: number) => (count === 1 ? '1 text is' : `${count} texts are`);

const choiceTypes = new Set(['MULTIPLE_CHOICE', 'CHECKBOXES', 'DROPDOWN', 'RANKING', 'MATRIX']);

function hasNoOptions({ type, options, settings, optionsFrom }: Question): boolean {
  if (!choiceTypes.has(type)) return false;
  if (type === 'MATRIX') return options.length === 0 || (settings.rows?.length === 0 && optionsFrom === null);
  return options.length === 0 && optionsFrom === null;
}

/**
 * Ids of questions that no answers lead to: hidden by a condition that is never true, behind a skip that is always
 * taken, or without anything to choose. A condition that may hold counts as one that does, so nothing is reported
 * wrongly.
 */
export function unreachableQuestions(survey: Definition): ReadonlySet<string> {
  const unreachable = new Set<string>();
  const hiddenSections = new Set<string>();
  /** Questions before this place are passed over. */
  let next = 0;
  for (const [index, question] of survey.questions.entries()) {
    const { id, sectionId, visibleIf, skips } = question;
    const section = survey.sections.find((one) => one.id === sectionId);
    if (section && truthOf(section.visibleIf, unreachable) === false) hiddenSections.add(section.id);
    const isHidden = truthOf(visibleIf, unreachable) === false || hiddenSections.has(sectionId ?? '');
    if (index < next || isHidden || hasNoOptions(question)) {
      unreachable.add(id);
      continue;
    }
    let nearest = Number.POSITIVE_INFINITY;
    for (const skip of skips) {
      nearest = Math.min(nearest, placeOf(survey, skip.to));
      if (truthOf(skip.if, unreachable) === true) {
        next = nearest;
        break;
      }
    }
  }
  return unreachable;
}

/** The index of the question to which a skip leads; infinite: the end. */
function placeOf({ questions, sections }: Definition, to: string): number {
  const direct = questions.findIndex(({ id }) => id === to);
  if (direct !== -1) return direct;
  const order = sections.find(({ id }) => id === to)?.order;
  if (order === undefined) return Number.POSITIVE_INFINITY;
  const orders = new Map(sections.map((section) => [section.id, section.order]));
  const first = questions.findIndex(({ sectionId }) => (orders.get(sectionId ?? '') ?? -1) >= order);
  return first === -1 ? Number.POSITIVE_INFINITY : first;
}

const trueWithoutAnswer = new Set(['notAnswered', 'isNoneOf', 'includesNone', 'notEquals']);

/** Whether a condition is the same for all respondents; undefined: it depends on them. */
function truthOf(condition: Condition | null, unreachable: ReadonlySet<string>): boolean | undefined {
  if (!condition) return true;
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
