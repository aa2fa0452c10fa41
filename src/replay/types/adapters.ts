import type { ReplayedType } from '../file/question.ts';
import type { TypeAdapter } from './adapter.ts';
import { choice, yesNo } from './choice.ts';
import { matrix } from './matrix.ts';
import { freeNumber, scale } from './numbers.ts';
import { ranking } from './ranking.ts';
import { selectAll } from './select-all.ts';
import { clockTime, day, emailAddress, wording } from './texts.ts';

/** How each type of question is replayed; a type that is missing here does not compile. */
export const typeAdapters: Readonly<Record<ReplayedType, TypeAdapter>> = {
  MULTIPLE_CHOICE: choice,
  DROPDOWN: choice,
  LIKERT_SCALE: choice,
  YES_NO: yesNo,
  CHECKBOXES: selectAll,
  RANKING: ranking,
  MATRIX: matrix,
  NUMBER: freeNumber,
  RATING_SCALE: scale,
  NPS: scale,
  SLIDER: scale,
  DATE: day,
  TIME: clockTime,
  EMAIL: emailAddress,
  SHORT_TEXT: wording({ lengthAtMost: 255, isMultiLine: false }),
  LONG_TEXT: wording({ lengthAtMost: 10_000, isMultiLine: true }),
};
