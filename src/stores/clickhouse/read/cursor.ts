import { validationProblem } from '../../../errors.ts';
import { isUuid, sqlMoment, sqlUuid } from '../sql-literals.ts';

/** A response's place among the responses of its survey; never changes. */
export interface ResponseKey {
  submittedAtMs: number;
  responseId: string;
}

/** An opaque text that stands for a place in the list of a survey's responses. */
export function encodeCursor(surveyId: string, { submittedAtMs, responseId }: ResponseKey): string {
  return Buffer.from(`${submittedAtMs}.${responseId}.${surveyTagOf(surveyId)}`).toString('base64url');
}

/** Throws a VALIDATION_ERROR for a text that `encodeCursor` cannot have made for this survey; earlier cursors bear no mark of theirs. */
export function decodeCursor(surveyId: string, cursor: string): ResponseKey {
  const [ms = '', responseId = '', mark = surveyTagOf(surveyId), ...rest] = Buffer.from(cursor, 'base64url')
    .toString('latin1')
    .split('.');
  if (!/^\d{1,15}$/.test(ms) || !isUuid(responseId) || mark !== surveyTagOf(surveyId) || rest.length > 0)
    throw validationProblem([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  return { submittedAtMs: Number(ms), responseId };
}

/** Tells surveys apart well enough: the random end of the id. */
const surveyTagOf = (surveyId: string): string => surveyId.slice(-12);

/** Places before or after a key, in the order (submitted_at, response_id); the first part can use the sorting key. */
export function keysetCondition(side: '<' | '>', { submittedAtMs, responseId }: ResponseKey): string {
  const moment = sqlMoment(submittedAtMs);
  return `submitted_at ${side}= ${moment} AND (submitted_at ${side} ${moment} OR response_id ${side} ${sqlUuid(responseId)})`;
}
