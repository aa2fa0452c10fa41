import type { QuestionType } from './contract.ts';
import { createScaleType, scaleSettings } from './scale.ts';

/** A slider: by default 0 to 100 in steps of 1. */
export const slider: QuestionType = createScaleType(scaleSettings({ min: 0, max: 100, step: 1 }), {
  showsEveryStep: false,
});
