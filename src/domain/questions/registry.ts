import { checkboxes } from './checkboxes.ts';
import type { QuestionType } from './contract.ts';
import { date } from './date.ts';
import { dropdown } from './dropdown.ts';
import { email } from './email.ts';
import { fileUpload } from './file-upload.ts';
import { likertScale } from './likert-scale.ts';
import { longText } from './long-text.ts';
import { matrix } from './matrix.ts';
import { multipleChoice } from './multiple-choice.ts';
import { nps } from './nps.ts';
import { number } from './number.ts';
import { ranking } from './ranking.ts';
import { ratingScale } from './rating-scale.ts';
import { shortText } from './short-text.ts';
import { slider } from './slider.ts';
import { time } from './time.ts';
import type { QuestionTypeName } from './type-names.ts';
import { yesNo } from './yes-no.ts';

/** The implementation of every question type; the compiler reports a missing one. */
export const registry: Readonly<Record<QuestionTypeName, QuestionType>> = {
  MULTIPLE_CHOICE: multipleChoice,
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
  YES_NO: yesNo,
  LIKERT_SCALE: likertScale,
};
