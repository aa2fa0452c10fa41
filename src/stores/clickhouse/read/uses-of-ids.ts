/**
 * SQL for the responses of ids. An id that a client made may be used again after its record has expired: it then names
 * several responses of a survey, its uses, each with a submission time of its own.
 */

/** Subquery of response_id: those of one survey that have several uses, deleted ones among them. */
export const idsUsedAgain = (responses: string, ofSurvey: string): string =>
  `(SELECT response_id FROM ${responses} WHERE ${ofSurvey} GROUP BY response_id HAVING min(submitted_at) < max(submitted_at))`;

/** Subquery of (survey_id, response_id, submitted_at, is_over): each use; it is over once its response is deleted. */
export const usesOfIds = (responses: string, condition: string): string =>
  `(SELECT survey_id, response_id, submitted_at, max(is_deleted) AS is_over FROM ${responses} WHERE ${condition} GROUP BY survey_id, response_id, submitted_at)`;

/**
 * Subquery of (survey_id, response_id): deleted responses whose ids have no other use that lives. `among`: `IN` or
 * `GLOBAL IN`; all uses of an id are on one shard.
 */
export function idsWithoutResponse(
  responses: string,
  { among, ofSurvey }: { among: 'IN' | 'GLOBAL IN'; ofSurvey?: string },
): string {
  const within = ofSurvey === undefined ? '' : ` AND ${ofSurvey}`;
  const deleted = `(survey_id, response_id) ${among} (SELECT survey_id, response_id FROM ${responses} WHERE is_deleted = 1${within})${within}`;
  return `(SELECT survey_id, response_id FROM ${usesOfIds(responses, deleted)} GROUP BY survey_id, response_id HAVING min(is_over) = 1)`;
}
