import type { AppliedWording, Aspect, QuestionWording, Suggestion } from '../../../domain/questions/suggestion.ts';
import { type Sql, type Tx, withPostgres } from '../client.ts';
import { lockedExistingSurvey } from './topics.ts';

export const suggestionStatuses = ['PENDING', 'ACCEPTED', 'REJECTED'] as const;
export type SuggestionStatus = (typeof suggestionStatuses)[number];

export interface StoredSuggestion {
  id: string;
  surveyId: string;
  questionId: string;
  aspect: Aspect;
  problem: string;
  suggestion: Pick<Suggestion, 'text' | 'options'>;
  /** The wording that the suggestion improves. */
  basis: QuestionWording;
  /** The wording after its acceptance; null unless it is ACCEPTED. */
  applied: AppliedWording | null;
  status: SuggestionStatus;
}

/** A suggestion as shown to callers. */
export function presentSuggestion({ id, aspect, problem, suggestion: { text, options }, status }: StoredSuggestion) {
  return {
    id,
    aspect,
    problem,
    suggestion: { text, ...(options && { options: options.map((option) => option.text) }) },
    status,
  };
}

export interface Decision {
  id: string;
  status: SuggestionStatus;
  applied?: AppliedWording;
  by: string;
}

const retentionDays = 90;

export function createSuggestionStore(sql: Sql) {
  const columns = sql`id, survey_id AS "surveyId", question_id AS "questionId", aspect, problem, suggestion, basis,
    applied, status`;
  return {
    /** Replaces the question's undecided suggestions, except of a deleted survey. */
    replaceOpen: (
      { surveyId, questionId }: Pick<StoredSuggestion, 'surveyId' | 'questionId'>,
      suggestions: readonly StoredSuggestion[],
    ): Promise<void> =>
      withPostgres(async () => {
        await sql.begin(async (tx) => {
          if ((await lockedExistingSurvey(tx, surveyId)).length === 0) return;
          await tx`DELETE FROM ai_suggestions WHERE question_id = ${questionId} AND status = 'PENDING'`;
          for (const { id, aspect, problem, suggestion, basis } of suggestions) {
            const row = {
              id,
              survey_id: surveyId,
              question_id: questionId,
              aspect,
              problem,
              suggestion: tx.json(suggestion as never),
              basis: tx.json(basis as never),
            };
            await tx`INSERT INTO ai_suggestions ${tx(row)}`;
          }
        });
      }),

    /** Deletes suggestions decided long ago; returns how many. */
    sweep: async (): Promise<number> =>
      (
        await sql`DELETE FROM ai_suggestions
          WHERE status <> 'PENDING' AND decided_at < now() - ${`${retentionDays} days`}::interval`
      ).count,

    /** The undecided suggestions and the newest decided ones, 200 at most, oldest first. */
    list: (questionId: string): Promise<StoredSuggestion[]> =>
      withPostgres(
        async () =>
          sql<StoredSuggestion[]>`
            SELECT * FROM (
              SELECT ${columns} FROM ai_suggestions WHERE question_id = ${questionId}
              ORDER BY (status = 'PENDING') DESC, id DESC LIMIT 200) shown
            ORDER BY id`,
      ),

    findSurveyId: (id: string): Promise<string | undefined> =>
      withPostgres(
        async () =>
          (await sql<{ surveyId: string }[]>`SELECT survey_id AS "surveyId" FROM ai_suggestions WHERE id = ${id}`)[0]
            ?.surveyId,
      ),

    find: (id: string): Promise<StoredSuggestion | undefined> =>
      withPostgres(
        async () => (await sql<StoredSuggestion[]>`SELECT ${columns} FROM ai_suggestions WHERE id = ${id}`)[0],
      ),

    /** Locks the suggestion until the end of the transaction. */
    lock: async (tx: Tx, id: string): Promise<StoredSuggestion | undefined> =>
      (await tx<StoredSuggestion[]>`SELECT ${columns} FROM ai_suggestions WHERE id = ${id} FOR UPDATE`)[0],

    decide: async (tx: Tx, { id, status, applied, by }: Decision): Promise<void> =>
      void (await tx`
        UPDATE ai_suggestions
        SET status = ${status}, applied = ${applied ? tx.json(applied as never) : null},
          decided_by = ${status === 'PENDING' ? null : by},
          decided_at = ${status === 'PENDING' ? null : new Date()} WHERE id = ${id}`),
  };
}

export type SuggestionStore = ReturnType<typeof createSuggestionStore>;
