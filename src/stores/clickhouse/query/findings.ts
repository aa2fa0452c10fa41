import type { Dimension } from '../../../domain/questions/contract.ts';
import { text, uuid } from './literals.ts';

/** Where the findings of a survey's answers lie. */
export interface FindingPlace {
  table: string;
  surveyId: string;
}

/** A condition for responses in whose answers a value was found. It is as true of every version of a response as of the newest. */
export function hasFinding({ edition, questionId }: Extract<Dimension['source'], { kind: 'finding' }>, value: string, { table, surveyId }: FindingPlace): string {
  const question = questionId === null ? '' : ` AND question_id = ${uuid(questionId)}`;
  return `response_id GLOBAL IN (SELECT response_id FROM ${table} WHERE survey_id = ${uuid(surveyId)} AND edition = ${uuid(edition)} AND value = ${text(value)}${question})`;
}
