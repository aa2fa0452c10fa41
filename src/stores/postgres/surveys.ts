import { withNotedVersions } from '../../domain/not-asked.ts';
import {
  type DefinitionTexts,
  definitionTextsOf,
  refuseTooLargeDefinition,
} from '../../domain/questions/definition-size.ts';
import type { CellQuota } from '../../domain/quotas/cell-quota.ts';
import type { Question, Survey, SurveyStatus, SurveyWithQuestions } from '../../domain/survey.ts';
import { notFound } from '../../errors.ts';
import { type AuditRecord, writeAuditEvent } from './audit.ts';
import { type Sql, selectAll, type Tx, withPostgres } from './client.ts';
import { collectorsOf, writeCollectors } from './collectors.ts';
import { retryOnDeadlock } from './errors.ts';
import { type OutboxEvent, writeOutbox } from './outbox.ts';
import { readQuotas, writeQuotas } from './quotas.ts';
import { runInCall } from './refusable-call.ts';
import { createSurveyList } from './survey-list.ts';
import {
  type QuestionRow,
  questionFromRow,
  questionToColumns,
  type SurveyRow,
  surveyColumns,
  surveyFromRow,
  surveyToColumns,
} from './survey-rows.ts';

/**
 * The result of a change. Unchanged questions and collectors (the same object) are not written. A revision later than
 * the row's next one is kept.
 */
export interface SurveyChange {
  survey: SurveyWithQuestions;
  isWordingChanged: boolean;
  events?: readonly OutboxEvent[];
  /** Saves more in the same transaction, beside the survey as it was saved. */
  alsoSave?: ((tx: Tx, saved: SurveyWithQuestions) => Promise<void>) | undefined;
}

/** The last saved counts of a survey's responses. */
export interface SavedCounts {
  surveyId: string;
  revision: number;
  responses: number;
  completed: number;
  quota: number | null;
  isOpen: boolean;
}

export interface CountsToSave extends Pick<SavedCounts, 'surveyId' | 'responses' | 'completed'> {
  /** The saved counts that were found to be wrong: others that were saved since are newer than these. */
  insteadOf?: Pick<SavedCounts, 'responses' | 'completed'>;
}

/** The collectors, and where responses name theirs. */
export type SurveyCollectors = Pick<SurveyWithQuestions, 'collectors' | 'collectorSlot' | 'slotCounts'>;

export function createSurveyStore(sql: Sql) {
  const questionsOf = async (db: Sql | Tx, surveyId: string): Promise<Question[]> =>
    (await selectAll<QuestionRow>(db, 'questions WHERE survey_id = $1 ORDER BY position, id', surveyId)).map(
      questionFromRow,
    );
  const definitionOf = async (db: Tx, row: SurveyRow): Promise<SurveyWithQuestions> => {
    const [questions, quotas, collectors] = await Promise.all([
      questionsOf(db, row.id),
      readQuotas(db, row.id),
      collectorsOf(db, row.id),
    ]);
    const sections = row.sections && { sections: row.sections };
    return { ...surveyFromRow(row), ...sections, questions, ...(quotas.length > 0 && { quotas }), collectors };
  };
  /** One snapshot for all that is read, so that a survey is never combined with questions of another revision. */
  const readWhole = <T>(id: string, read: (tx: Tx, row: SurveyRow) => Promise<T>): Promise<T | undefined> =>
    withPostgres(async () => {
      const { found } = await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (tx) => {
        const [row] = await selectAll<SurveyRow>(tx, 'surveys WHERE id = $1 AND deleted_at IS NULL', id);
        return { found: row && (await read(tx, row)) };
      });
      return found;
    });
  return {
    /** The survey without its sections and questions. */
    find: (id: string): Promise<Survey | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<SurveyRow[]>`
          SELECT ${sql(surveyColumns)} FROM surveys s WHERE s.id = ${id} AND s.deleted_at IS NULL`;
        return row && surveyFromRow(row);
      }),

    findByQuestion: (questionId: string): Promise<Survey | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<SurveyRow[]>`
          SELECT ${sql(surveyColumns)} FROM surveys s JOIN questions q ON q.survey_id = s.id
          WHERE q.id = ${questionId} AND NOT q.is_hidden AND s.deleted_at IS NULL`;
        return row && surveyFromRow(row);
      }),

    /** Throws OfNewerVersion for a survey whose questions only a newer version of the service can read. */
    load: (id: string): Promise<SurveyWithQuestions | undefined> => readWhole(id, definitionOf),

    /** Its collectors, and what tells by which of them a response came; whatever version its questions are of. */
    findCollectors: (id: string): Promise<SurveyCollectors | undefined> =>
      readWhole(id, async (tx, row) => ({ ...surveyFromRow(row), collectors: await collectorsOf(tx, id) })),

    /** Its quotas by cell, whatever version its questions are of; undefined if there is no such survey. */
    findQuotas: (id: string): Promise<CellQuota[] | undefined> => readWhole(id, (tx) => readQuotas(tx, id)),

    list: createSurveyList(sql),

    /**
     * Returns the survey with its default collector, which the database adds. `timeoutMs`: for the whole, where
     * `alsoSave` takes long.
     */
    create: (
      created: SurveyWithQuestions,
      events: readonly OutboxEvent[] = [],
      alsoSave?: (tx: Tx) => Promise<void>,
      timeoutMs?: number,
    ): Promise<SurveyWithQuestions> =>
      withPostgres(
        () =>
          sql.begin(async (tx) => {
            const survey = withNotedVersions(created, created);
            await tx`INSERT INTO surveys ${tx(surveyToColumns(survey, jsonOf(tx)))}`;
            await tx`INSERT INTO survey_counts (survey_id) VALUES (${survey.id})`;
            await writeQuestions(tx, survey.questions);
            await writeQuotas(tx, survey.id, [], survey.quotas ?? []);
            await writeVersion(tx, survey, definitionTextsOf(survey));
            await writeOutbox(tx, events);
            await alsoSave?.(tx);
            return { ...survey, collectors: await collectorsOf(tx, survey.id) };
          }),
        timeoutMs,
      ),

    /**
     * Changes a survey in one transaction: reads it under a lock and writes what `decide` returns, with the next
     * revision (and the next version if wording changed) and the events. Throws NOT_FOUND if there is no such survey.
     * If `decide` throws, everything is rolled back; if it returns undefined, nothing changes. `mayBeLate`: it is also
     * made once waiting for it was given up.
     */
    change: (
      id: string,
      decide: (current: SurveyWithQuestions, tx: Tx) => SurveyChange | undefined | Promise<SurveyChange | undefined>,
      { mayBeLate = false }: { mayBeLate?: boolean } = {},
    ) => {
      const make = () =>
        sql.begin(async (tx): Promise<SurveyWithQuestions> => {
          const [row] = await selectAll<SurveyRow>(tx, 'surveys WHERE id = $1 AND deleted_at IS NULL FOR UPDATE', id);
          if (!row) throw notFound('survey');
          const current = await definitionOf(tx, row);
          const change = await decide(current, tx);
          if (!change) return current;
          return saveChange(tx, current, change);
        });
      return withPostgres(() => (mayBeLate ? runInCall(undefined, make) : make()));
    },

    /**
     * Marks the survey as deleted and ends its AI jobs; the consumer of the outbox event erases its data. The audit
     * event is there exactly if the survey is deleted.
     */
    remove: (id: string, auditEvent?: AuditRecord): Promise<void> =>
      withPostgres(() =>
        retryOnDeadlock(async () => {
          await sql.begin(async (tx) => {
            const [row] = await tx<{ revision: number }[]>`
              UPDATE surveys SET deleted_at = now(), revision = revision + 1 WHERE id = ${id} AND deleted_at IS NULL
              RETURNING revision`;
            if (!row) throw notFound('survey');
            await tx`UPDATE ai_jobs SET status = 'CANCELLED', updated_at = now()
              WHERE survey_id = ${id} AND status IN ('PENDING', 'RUNNING')`;
            await writeOutbox(tx, [
              { kind: 'survey.deleted', cause: `deleted:${id}`, payload: { surveyId: id, revision: row.revision } },
            ]);
            if (auditEvent) await writeAuditEvent(tx, auditEvent);
          });
        }),
      ),

    memberRole: (surveyId: string, userId: string): Promise<'EDITOR' | 'VIEWER' | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<
          { role: 'EDITOR' | 'VIEWER' }[]
        >`SELECT role FROM survey_members WHERE survey_id = ${surveyId} AND user_id = ${userId}`;
        return row?.role;
      }),

    /**
     * Surveys past their end whose row is not closed yet, with ids above `after`, by id. The start of a survey changes
     * no row.
     */
    findDueToClose: ({
      now,
      after,
      limit,
    }: {
      now: Date;
      after?: string | undefined;
      limit: number;
    }): Promise<string[]> =>
      withPostgres(async () => {
        const rows = await sql<{ id: string }[]>`
          SELECT id FROM surveys
          WHERE deleted_at IS NULL AND status IN ('ACTIVE', 'PAUSED') AND ends_at <= ${now}
            AND ${after === undefined ? sql`true` : sql`id > ${after}`} ORDER BY id LIMIT ${limit}`;
        return rows.map((row) => row.id);
      }),

    /** Surveys that are open or scheduled, with ids above `after`, by id. */
    open: ({
      after,
      limit,
    }: {
      after?: string | undefined;
      limit: number;
    }): Promise<Pick<Survey, 'id' | 'revision'>[]> =>
      withPostgres(async () => [
        ...(await sql<Pick<Survey, 'id' | 'revision'>[]>`
          SELECT id, revision FROM surveys
          WHERE deleted_at IS NULL AND status = 'ACTIVE' AND ${after === undefined ? sql`true` : sql`id > ${after}`}
          ORDER BY id LIMIT ${limit}`),
      ]),

    /** Adds events that no change of a row has caused. */
    addEvents: (events: readonly OutboxEvent[]): Promise<void> =>
      withPostgres(async () => void (await sql.begin((tx) => writeOutbox(tx, events)))),

    /** Surveys with active quotas by cell. */
    idsWithQuotas: (): Promise<string[]> =>
      withPostgres(async () => {
        const rows = await sql<{ survey_id: string }[]>`
          SELECT DISTINCT q.survey_id FROM quotas q JOIN surveys s ON s.id = q.survey_id
          WHERE q.is_active AND s.deleted_at IS NULL ORDER BY q.survey_id`;
        return rows.map((row) => row.survey_id);
      }),

    responseCount: (id: string): Promise<number> =>
      withPostgres(async () => {
        const [row] = await sql<{ responses: number }[]>`SELECT responses FROM survey_counts WHERE survey_id = ${id}`;
        return row?.responses ?? 0;
      }),

    /** Saved counts of all surveys or of one, with ids above `after`, by id. */
    savedCounts: ({
      after,
      surveyId,
      limit,
    }: {
      after?: string | undefined;
      surveyId?: string | undefined;
      limit: number;
    }): Promise<SavedCounts[]> =>
      withPostgres(async () => {
        const rows = await sql<
          {
            survey_id: string;
            revision: number;
            responses: number;
            completed: number;
            response_quota: number | null;
            status: SurveyStatus;
          }[]
        >`
          SELECT c.survey_id, s.revision, c.responses, c.completed, s.response_quota, s.status FROM survey_counts c
          JOIN surveys s ON s.id = c.survey_id
          WHERE s.deleted_at IS NULL AND ${after === undefined ? sql`true` : sql`c.survey_id > ${after}`}
            AND ${surveyId === undefined ? sql`true` : sql`c.survey_id = ${surveyId}`} ORDER BY c.survey_id
            LIMIT ${limit}`;
        return rows.map((row) => ({
          surveyId: row.survey_id,
          revision: row.revision,
          responses: row.responses,
          completed: row.completed,
          quota: row.response_quota,
          isOpen: row.status === 'ACTIVE',
        }));
      }),

    /** Saves counts of responses, those with `insteadOf` only where these are still the saved ones. */
    saveCounts: (counts: readonly CountsToSave[]): Promise<void> =>
      withPostgres(async () => {
        if (counts.length === 0) return;
        await sql`
          UPDATE survey_counts c SET responses = n.responses, completed = n.completed
          FROM unnest(${counts.map((item) => item.surveyId)}::uuid[], ${counts.map((item) => item.responses)}::bigint[],
            ${counts.map((item) => item.completed)}::bigint[],
            ${counts.map(({ insteadOf }) => insteadOf?.responses ?? null)}::bigint[],
            ${counts.map(({ insteadOf }) => insteadOf?.completed ?? null)}::bigint[])
            AS n (survey_id, responses, completed, former_responses, former_completed)
          WHERE c.survey_id = n.survey_id AND (c.responses, c.completed) IS DISTINCT FROM (n.responses, n.completed)
            AND c.responses = coalesce(n.former_responses, c.responses)
            AND c.completed = coalesce(n.former_completed, c.completed)`;
      }),
  };
}

export type SurveyStore = ReturnType<typeof createSurveyStore>;

async function saveChange(tx: Tx, current: SurveyWithQuestions, change: SurveyChange): Promise<SurveyWithQuestions> {
  const saved = withNotedVersions(current, {
    ...change.survey,
    revision: Math.max(current.revision, change.survey.revision) + 1,
    version: change.isWordingChanged ? Math.max(current.version, change.survey.version) + 1 : current.version,
  });
  const texts = change.isWordingChanged ? definitionTextsOf(saved) : undefined;
  if (texts) refuseTooLargeDefinition(current, texts);
  await tx`UPDATE surveys SET ${tx(surveyToColumns(saved, jsonOf(tx)))} WHERE id = ${saved.id}`;
  const before = new Map(current.questions.map((question) => [question.id, question]));
  await writeQuestions(
    tx,
    saved.questions.filter((question) => before.get(question.id) !== question),
  );
  const known = new Set(current.collectors);
  await writeCollectors(
    tx,
    (saved.collectors ?? []).filter((collector) => !known.has(collector)),
  );
  await writeQuotas(tx, saved.id, current.quotas ?? [], saved.quotas ?? []);
  if (texts) await writeVersion(tx, saved, texts);
  await change.alsoSave?.(tx, saved);
  await writeOutbox(tx, [
    { kind: 'survey.changed', payload: { surveyId: saved.id, revision: saved.revision } },
    ...(change.events ?? []),
  ]);
  return { ...saved, questions: [...saved.questions].sort((a, b) => a.order - b.order) };
}

const jsonOf = (tx: Tx) => (value: unknown) => tx.json(value as never);

async function writeQuestions(tx: Tx, questions: readonly Question[]): Promise<void> {
  for (const question of questions) {
    const columns = questionToColumns(question, jsonOf(tx));
    await tx`INSERT INTO questions ${tx(columns)} ON CONFLICT (id) DO UPDATE SET ${tx(columns)}`;
  }
}

async function writeVersion(tx: Tx, survey: SurveyWithQuestions, texts: DefinitionTexts): Promise<void> {
  const { title, description, language, isShuffled } = survey;
  const rest = JSON.stringify({ title, description, language, ...(isShuffled && { isShuffled }) });
  const parts = texts.sections === undefined ? '' : `"sections":${texts.sections},`;
  await tx`INSERT INTO survey_versions (survey_id, version, definition)
    VALUES (${survey.id}, ${survey.version}, ${`{${parts}"questions":${texts.questions},${rest.slice(1)}`}::text::jsonb)`;
}
