import type { Category, Dimension } from '../../../domain/questions/contract.ts';
import { sqlInteger, sqlString, sqlUuid } from '../sql-literals.ts';

type AnnotationSource = Extract<Dimension['source'], { kind: 'annotation' }>;

/** Where the findings of a survey's answers lie. */
export interface AnnotationLocation {
  table: string;
  surveyId: string;
}

/** A condition for responses in whose answers a value was found. It is as true of every version of a response as of the newest. */
export function hasAnnotation(
  { edition, questionId }: AnnotationSource,
  value: string,
  { table, surveyId }: AnnotationLocation,
): string {
  return `response_id GLOBAL IN (SELECT response_id FROM ${table} WHERE ${ofEdition(edition, surveyId)} AND value = ${sqlString(value)}${ofQuestion(questionId)})`;
}

/** A query of the codes (ascending, as Array(UInt32)) of all categories that were found in the answers of a response, by its `response_id`; one pass, however many categories. */
export function annotationCodes(
  { edition, questionId }: Pick<AnnotationSource, 'edition' | 'questionId'>,
  categories: readonly Category[],
  { table, surveyId }: AnnotationLocation,
): string {
  const values = categories.map(({ value }) => sqlString(value)).join(', ');
  const codes = categories.map(({ code }) => sqlInteger(code)).join(', ');
  return `(SELECT response_id, arraySort(groupUniqArray(code)) AS codes FROM
    (SELECT response_id, transform(value, [${values}], CAST([${codes}], 'Array(UInt32)'), toUInt32(0)) AS code FROM ${table} WHERE ${ofEdition(edition, surveyId)}${ofQuestion(questionId)})
    WHERE code != 0 GROUP BY response_id)`;
}

const ofEdition = (edition: string, surveyId: string): string =>
  `survey_id = ${sqlUuid(surveyId)} AND edition = ${sqlUuid(edition)}`;
const ofQuestion = (questionId: string | null): string =>
  questionId === null ? '' : ` AND question_id = ${sqlUuid(questionId)}`;
