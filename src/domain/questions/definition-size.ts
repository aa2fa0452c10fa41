import { validationProblem } from '../../errors.ts';
import type { SurveyWithQuestions } from '../survey.ts';

/**
 * Of a survey's questions as they are stored, those that were removed among them. Each change of wording keeps a copy of them all, every
 * process that serves the survey holds them, and respondents are sent those that are shown.
 */
export const maxDefinitionBytes = 2 * 1024 * 1024;

/** VALIDATION_ERROR where a change makes a survey larger than surveys may be; one that is too large already may become smaller. */
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

const bytesOf = ({ questions }: SurveyWithQuestions): number => Buffer.byteLength(JSON.stringify(questions));
