import { validationProblem } from '../../errors.ts';
import type { SurveyWithQuestions } from '../survey.ts';

/**
 * Maximum size of a survey's questions, removed ones included, and its sections as JSON. Each wording version stores a
 * copy of them, every process that serves the survey caches them, and respondents download the visible ones.
 */
export const maxDefinitionBytes = 2 * 1024 * 1024;

/** Throws VALIDATION_ERROR if a change exceeds `maxDefinitionBytes`, unless it makes an oversized survey smaller. */
export function refuseTooLargeDefinition(before: SurveyWithQuestions, after: SurveyWithQuestions): void {
  const bytes = bytesOf(after);
  if (bytes <= maxDefinitionBytes || bytes <= bytesOf(before)) return;
  throw validationProblem([
    {
      path: '',
      message: `the questions of the survey, removed ones included, would take ${bytes} bytes as JSON, and may take ${maxDefinitionBytes}: shorter texts, fewer options, or a survey of its own`,
    },
  ]);
}

const bytesOf = ({ questions, sections = [] }: SurveyWithQuestions): number =>
  Buffer.byteLength(JSON.stringify(questions)) +
  (sections.length > 0 ? Buffer.byteLength(JSON.stringify(sections)) : 0);
