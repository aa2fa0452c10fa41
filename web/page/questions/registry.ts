import type { QuestionTypeName } from '../../../src/domain/questions/type-names.ts';
import { checkboxes, dropdown, matrix, rowChoice, singleChoice } from './choice.tsx';
import type { PageType } from './contract.ts';
import { date, email, longText, number, shortText, time } from './fields.tsx';
import { fileUpload } from './file-upload.tsx';
import { ranking } from './ranking.tsx';
import { nps, ratingScale, slider } from './scales.tsx';

/** What the page knows of each question type; the compiler reports a missing one. */
const registry: Readonly<Record<QuestionTypeName, PageType>> = {
  MULTIPLE_CHOICE: singleChoice,
  CHECKBOXES: checkboxes,
  DROPDOWN: dropdown,
  RATING_SCALE: ratingScale,
  NPS: nps,
  MATRIX: matrix,
  RANKING: ranking,
  SHORT_TEXT: shortText,
  LONG_TEXT: longText,
  EMAIL: email,
  NUMBER: number,
  DATE: date,
  TIME: time,
  FILE_UPLOAD: fileUpload,
  SLIDER: slider,
  YES_NO: rowChoice,
  LIKERT_SCALE: rowChoice,
};

/** A page of an earlier build may meet a type that it does not know: a text is the most that can be entered. */
export const pageTypeOf = (type: string): PageType => registry[type as QuestionTypeName] ?? registry.SHORT_TEXT;
