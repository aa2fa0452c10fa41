import type { SurveyWithQuestions } from '../survey.ts';
import { sourceStrings, type Translation } from './translation.ts';

/** A string that needs a translation. `maxLength`: maximum characters of the translation. */
export interface Untranslated {
  key: string;
  text: string;
  maxLength: number;
}

/** Strings without a translation, or with one of an earlier wording; in display order. */
export function untranslated(
  survey: SurveyWithQuestions,
  translation: Translation | undefined,
  hashOf: (text: string) => string,
): Untranslated[] {
  return sourceStrings(survey)
    .filter(({ key, text }) => translation?.strings[key]?.source !== hashOf(text))
    .map(({ key, text }) => ({ key, text, maxLength: maxLengthOf(key) }));
}

/** The same limits as for the author's own wording. */
function maxLengthOf(key: string): number {
  if (key.endsWith('title')) return 300;
  if (key.endsWith('description') || key === 'closingText') return 5000;
  return key.endsWith('.text') ? 2000 : 500;
}

const maxStringsPerBatch = 40;
/** A translation of so many characters in 40 strings has at most 12,000 tokens. */
const maxCharactersPerBatch = 4800;

/**
 * Splits strings into batches that fit into one AI reply: at most 40 strings and 4,800 characters, or one longer
 * string.
 */
export function inBatches<T extends { text: string }>(strings: readonly T[]): T[][] {
  const batches: T[][] = [];
  let remaining = 0;
  for (const string of strings) {
    const last = batches.at(-1);
    if (last && last.length < maxStringsPerBatch && string.text.length <= remaining) last.push(string);
    else {
      batches.push([string]);
      remaining = maxCharactersPerBatch;
    }
    remaining -= string.text.length;
  }
  return batches;
}
