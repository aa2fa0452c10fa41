import type { QuestionType } from './contract.ts';
import { createScaleType, scaleSettings } from './scale.ts';

/** Stars and the like: 1 to 5 unless the author says otherwise. */
export const ratingScale: QuestionType = createScaleType(scaleSettings({ min: 1, max: 5, step: 1 }));
