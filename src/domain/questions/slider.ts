import type { QuestionType } from './contract.ts';
import { createScaleType, scaleSettings } from './scale.ts';

/** A handle on a range: 0 to 100 in whole steps unless the author says otherwise. */
export const slider: QuestionType = createScaleType(scaleSettings({ min: 0, max: 100, step: 1 }), {
  showsEveryStep: false,
});
