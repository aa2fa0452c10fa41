import { blankSurvey } from '../../src/domain/blank-survey.ts';
import { newId } from '../../src/platform/ids.ts';
import { createSurveyStore } from '../../src/stores/postgres/surveys.ts';
import { freshDatabase } from './auth-server.ts';

export type OwnedDatabase = Awaited<ReturnType<typeof freshDatabase>> & { ownerId: string };

/** A database of its own with one EDITOR, who can own surveys; `options`: those of CREATE DATABASE. */
export async function ownedDatabase(options = ''): Promise<OwnedDatabase> {
  const database = await freshDatabase(options);
  const ownerId = newId();
  await database.sql`INSERT INTO users ${database.sql({ id: ownerId, email: 'a@example.org', email_key: 'a@example.org', password_hash: '-', role: 'EDITOR' })}`;
  return { ...database, ownerId };
}

/** A survey of the owner's, blank, as that of which an analysis speaks. */
export async function analysedSurvey(
  { sql, ownerId }: OwnedDatabase,
  topic: string,
): Promise<{ surveyId: string; topic: string }> {
  const surveyId = newId();
  await createSurveyStore(sql).create(blankSurvey(surveyId, ownerId, Date.now()));
  return { surveyId, topic };
}
