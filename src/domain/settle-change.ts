import { withNotAskedBits } from './not-asked.ts';
import type { SurveyWithQuestions } from './survey.ts';
import { brokenBy, settledPaths, withoutBrokenPlaceholders } from './survey-paths/path-changes.ts';
import type { TranslatedString, Translation } from './translation/translation.ts';

export interface SettleOptions {
  /** Conditions, skips and other references that the change breaks are removed with it, instead of refusing it. */
  removeConditions?: boolean | undefined;
  /** Those of the survey whose texts have placeholders. */
  translations?: readonly Translation[];
}

export interface SettledChange {
  survey: SurveyWithQuestions;
  /** Strings of translations whose placeholders the change broke, repaired; to be saved with it. */
  repairs: readonly { language: string; strings: Record<string, TranslatedString> }[];
}

/**
 * What every change of an author ends with: nothing that a condition, skip, `optionsFrom`, quota or text names may be
 * gone, and the survey has the bits that its conditions need. Throws VALIDATION_ERROR or CONDITION_BROKEN.
 */
export function settleChange(
  before: SurveyWithQuestions,
  after: SurveyWithQuestions,
  { removeConditions = false, translations = [] }: SettleOptions = {},
): SettledChange {
  const beside = { quotas: before.quotas, translations };
  const settled = settledPaths(before, after, { removeConditions, beside });
  const broken = removeConditions ? brokenBy(before, after, beside) : [];
  if (broken.length === 0) return { survey: withNotAskedBits(settled), repairs: [] };
  const repairs = translations.flatMap(({ language, strings }) => {
    const repaired = broken.flatMap((place) => {
      const known = place.language === language ? strings[place.field] : undefined;
      return known
        ? [[place.field, { ...known, text: withoutBrokenPlaceholders(settled, place, known.text) }] as const]
        : [];
    });
    return repaired.length === 0 ? [] : [{ language, strings: Object.fromEntries(repaired) }];
  });
  const gone = new Set(broken.map(({ quotaId }) => quotaId));
  const survey = { ...settled, ...(settled.quotas && { quotas: settled.quotas.filter(({ id }) => !gone.has(id)) }) };
  return { survey: withNotAskedBits(survey), repairs };
}
