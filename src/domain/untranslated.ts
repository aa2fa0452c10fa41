import type { SurveyWithQuestions } from './survey.ts';
import { sourceStrings, type Translation } from './translation.ts';

/** A string of a survey that wants translating. `longest`: characters that its translation may have. */
export interface Untranslated {
  key: string;
  text: string;
  longest: number;
}

/** What has no translation, or one of a wording that is gone; in the order shown. */
export function untranslated(survey: SurveyWithQuestions, translation: Translation | undefined, hashOf: (text: string) => string): Untranslated[] {
  return sourceStrings(survey)
    .filter(({ key, text }) => translation?.strings[key]?.source !== hashOf(text))
    .map(({ key, text }) => ({ key, text, longest: longestOf(key) }));
}

/** As long as the same string may be by hand. */
function longestOf(key: string): number {
  if (key === 'title') return 300;
  if (key.endsWith('description')) return 5000;
  return key.endsWith('.text') ? 2000 : 500;
}

const stringsAtOnce = 40;
const charactersAtOnce = 6000;

/** Strings that are sent together: few enough for one reply to hold them all. */
export function inBatches<T extends { text: string }>(strings: readonly T[]): T[][] {
  const batches: T[][] = [];
  let room = 0;
  for (const string of strings) {
    const last = batches.at(-1);
    if (last && last.length < stringsAtOnce && string.text.length <= room) last.push(string);
    else {
      batches.push([string]);
      room = charactersAtOnce;
    }
    room -= string.text.length;
  }
  return batches;
}
