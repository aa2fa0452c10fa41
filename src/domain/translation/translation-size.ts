import { jsonBytes, refuseTooLarge } from '../size-limit.ts';
import type { TranslatedString, Translation } from './translation.ts';

/**
 * Maximum size of the texts of a survey in one language as JSON: twice that of a definition, as the same text takes
 * twice the bytes in other scripts. They are read as a whole for each respondent who is shown them.
 */
export const maxTranslationBytes = 4 * 1024 * 1024;

export interface TranslationTexts {
  strings: Readonly<Record<string, TranslatedString>>;
  removedKeys?: readonly string[];
}

/** Throws VALIDATION_ERROR if a change exceeds `maxTranslationBytes`, unless it makes an oversized translation smaller. */
export function refuseTooLargeTranslation(
  language: string,
  before: Translation['strings'],
  { strings, removedKeys = [] }: TranslationTexts,
): void {
  const removed = new Set(removedKeys);
  const after = Object.entries({ ...before, ...strings }).filter(([key]) => !removed.has(key));
  const limit = {
    part: `the texts in ${language}, those of what was removed from the survey included,`,
    maxBytes: maxTranslationBytes,
    advice: 'shorter texts, or delete the translation and store what is still needed',
  };
  refuseTooLarge(limit, { before: () => jsonBytes(before), bytes: jsonBytes(Object.fromEntries(after)) });
}
