import { readable } from '../../../../src/domain/path/placeholders.ts';
import { hasNoOptions, unreachableQuestions } from '../../../../src/domain/survey-paths/unreachable-questions.ts';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import type { Definition } from '../../data/questions.ts';

/** Something to look at before publishing, with the address of the view that mends it. */
interface Finding {
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
