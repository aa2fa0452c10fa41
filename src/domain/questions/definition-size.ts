import { refuseTooLarge } from '../size-limit.ts';
import type { SurveyWithQuestions } from '../survey.ts';

/**
 * Maximum size of a survey's questions, removed ones included, and its sections as JSON. Each wording version stores a
 * copy of them, every process that serves the survey caches them, and respondents download the visible ones.
 */
export const maxDefinitionBytes = 2 * 1024 * 1024;

/** Questions, removed ones included, and sections of a survey as JSON, which takes milliseconds where they are many. */
export interface DefinitionTexts {
  questions: string;
  /** Undefined without sections. */
  sections: string | undefined;
  /** Bytes of the notes since when something is removed. They do not count, so that a removal is never refused. */
  absenceBytes: number;
}

export const definitionTextsOf = ({ questions, sections }: SurveyWithQuestions): DefinitionTexts => ({
  questions: JSON.stringify(questions),
  sections: sections && JSON.stringify(sections),
  absenceBytes: questions
    .flatMap((question) => [question, ...question.rows])
    .reduce((sum, { absentIn }) => sum + (absentIn ? JSON.stringify({ absentIn }).length : 0), 0),
});

const definitionLimit = {
  part: 'the questions of the survey, removed ones included,',
  maxBytes: maxDefinitionBytes,
  advice: 'shorter texts, fewer options, or a survey of its own',
};

/** Throws VALIDATION_ERROR if a change exceeds `maxDefinitionBytes`, unless it makes an oversized survey smaller. */
export const refuseTooLargeDefinition = (before: SurveyWithQuestions, after: DefinitionTexts): void =>
  refuseTooLarge(definitionLimit, { before: () => bytesOf(definitionTextsOf(before)), bytes: bytesOf(after) });

const bytesOf = ({ questions, sections = '', absenceBytes }: DefinitionTexts): number =>
  Buffer.byteLength(questions) + Buffer.byteLength(sections) - absenceBytes;
