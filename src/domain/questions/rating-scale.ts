import type { QuestionType } from './contract.ts';
import { createScaleType, scaleSettings } from './scale.ts';

/** A rating such as stars: by default 1 to 5. */
export const ratingScale: QuestionType = createScaleType(scaleSettings({ min: 1, max: 5, step: 1 }));
