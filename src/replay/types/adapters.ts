import type { ReplayedType } from '../recognise.ts';
import type { TypeAdapter } from './adapter.ts';
import { choice, matrix, ranking, selectAll, yesNo } from './chosen.ts';
import { clockTime, day, emailAddress, freeNumber, scale, wording } from './entered.ts';

/** The adapter of each question type; the compiler reports a missing one. */
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
  SHORT_TEXT: wording({ maxLength: 255, isMultiLine: false }),
  LONG_TEXT: wording({ maxLength: 10_000, isMultiLine: true }),
};
