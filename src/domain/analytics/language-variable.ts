import type { ValidationIssue } from '../../errors.ts';
import { canonicalLanguage } from '../language.ts';
import type { Dimension } from '../questions/contract.ts';
import type { Survey } from '../survey.ts';
import { languageName } from '../translation/language-name.ts';
import { translationLanguages } from '../translation/languages.ts';

/** The name of the variable in crosstabs, and what filters by it begin with: `language:de`. */
export const languageVariable = 'language';
const filterPrefix = `${languageVariable}:`;
const otherLanguages = 'other';

/**
 * The language of a response as a variable: that of the survey, which also counts where the response names none, then
 * those that surveys can be translated to, then all others. A tag stands for its forms too, as in conditions
 * (`isLanguageForm`); in a crosstab only for those without a category of their own. All but the survey's own are shown
 * if a response came in them.
 */
export function languageDimension({ language }: Pick<Survey, 'language'>): Dimension {
  const others = translationLanguages.filter((tag) => tag !== language);
  const tags = [language, ...others];
  return {
    categories: [
      ...tags.map((tag, index) => ({
        code: index + 1,
        value: tag,
        text: languageName(tag),
        ...(index > 0 && { isHidden: true }),
      })),
      { code: tags.length + 1, value: otherLanguages, text: 'Other languages', isHidden: true },
    ],
    source: { kind: 'language', tags },
  };
}

/** Parses `language:TAG` and `language:other`; undefined for a filter of another variable. */
export function languageFilter(
  survey: Pick<Survey, 'language'>,
  text: string,
): { dimension: Dimension; code: number } | ValidationIssue | undefined {
  if (!text.startsWith(filterPrefix)) return undefined;
  const dimension = languageDimension(survey);
  const named = text.slice(filterPrefix.length);
  const tag = canonicalLanguage(named) ?? named;
  const category = dimension.categories.find(({ value }) => value === tag);
  return category
    ? { dimension, code: category.code }
    : { path: '', message: `names no language; they are ${dimension.categories.map(({ value }) => value).join(', ')}` };
}
