import type { SurveyWithQuestions } from '../survey.ts';
import { sourceStrings, type Translation } from './translation.ts';

/** A string of a survey that wants translating. `longest`: characters that its translation may have. */
export interface Untranslated {
  key: string;
  text: string;
  maxLength: number;
}

/** What has no translation, or one of a wording that is gone; in the order shown. */
export function untranslated(
  survey: SurveyWithQuestions,
  translation: Translation | undefined,
  hashOf: (text: string) => string,
): Untranslated[] {
  return sourceStrings(survey)
    .filter(({ key, text }) => translation?.strings[key]?.source !== hashOf(text))
    .map(({ key, text }) => ({ key, text, maxLength: maxLengthOf(key) }));
}

/** As long as the same string may be by hand. */
function maxLengthOf(key: string): number {
  if (key === 'title') return 300;
  if (key.endsWith('description')) return 5000;
  return key.endsWith('.text') ? 2000 : 500;
}

const maxStringsPerBatch = 40;
const maxCharactersPerBatch = 6000;

/** Strings that are sent together: few enough for one reply to hold them all. */
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
