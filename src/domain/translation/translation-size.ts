import type { SlicedWork } from '../../platform/slices.ts';
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
export function* refuseTooLargeTranslation(
  language: string,
  before: Translation['strings'],
  { strings, removedKeys = [] }: TranslationTexts,
): SlicedWork<void> {
  const removed = new Set(removedKeys);
  const kept = yield* bytesOf(before, (key) => !removed.has(key) && !Object.hasOwn(strings, key));
  const bytes = kept + (yield* bytesOf(strings, (key) => !removed.has(key)));
  if (bytes <= maxTranslationBytes) return;
  const bytesBefore = yield* bytesOf(before, () => true);
  const limit = {
    part: `the texts in ${language}, those of what was removed from the survey included,`,
    maxBytes: maxTranslationBytes,
    advice: 'shorter texts, or delete the translation and store what is still needed',
  };
  refuseTooLarge(limit, { before: () => bytesBefore, bytes });
}

const textsPerSlice = 200;

/** The bytes of these texts as members of a JSON object. */
function* bytesOf(strings: Translation['strings'], isCounted: (key: string) => boolean): SlicedWork<number> {
  let [bytes, count] = [0, 0];
  for (const key in strings) {
    if (isCounted(key)) bytes += jsonBytes(key) + jsonBytes(strings[key]) + ':,'.length;
    count += 1;
    if (count % textsPerSlice === 0) yield;
  }
  return bytes;
}
