import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { createDeletedSurveys, deletedSurveyRetentionDays } from '../../src/stores/postgres/deleted-surveys.ts';
import { freshDatabase } from '../support/auth-server.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

const dayMs = 86_400_000;
const later = Date.now() + (deletedSurveyRetentionDays + 1) * dayMs;
const tables = [
  'questions',
  'survey_versions',
  'survey_counts',
  'translations',
  'survey_members',
  'webhooks',
  'exports',
  'uploads',
];

describe('the rows of deleted surveys', () => {
  let service: RunningService;
  let admin: Client;
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  before(async () => {
    await sharedStores();
    database = await freshDatabase();
    service = await startService({ env: { DATABASE_URL: database.url, WEBHOOK_ALLOW_PRIVATE: 'true' } });
    admin = await adminClient(service);
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    await database.drop();
  });

  const make = async (): Promise<string> => {
    const { id } = await admin.create('/surveys', { title: 'Short-lived', status: 'ACTIVE' });
    await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Well?' });
    await admin.put(`/surveys/${id}/translations/de`, { title: 'Kurz' });
    await admin.create('/webhooks', { url: 'http://127.0.0.1:9/', events: ['quota.reached'], surveyId: id });
    assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    return id;
  };
  const left = async (id: string): Promise<string[]> => {
    const found = await Promise.all(
      tables.map(async (table) =>
        (await database.sql`SELECT 1 FROM ${database.sql(table)} WHERE survey_id = ${id} LIMIT 1`).length > 0
          ? [table]
          : [],
      ),
    );
    return [
      ...((await database.sql`SELECT 1 FROM surveys WHERE id = ${id}`).length > 0 ? ['surveys'] : []),
      ...found.flat(),
    ];
  };
  const deletedSurveys = () => createDeletedSurveys(database.sql, createLog('silent'));
  const isErased = (id: string) =>
    eventually(async () =>
      assert.equal(
        (await database.sql`SELECT 1 FROM outbox WHERE done_at IS NULL AND payload ->> 'surveyId' = ${id}`).length,
        0,
      ),
    );

  it('are removed a month later except the audit, without rows of other surveys', async () => {
    const [gone, kept] = [await make(), await make()];
    await admin.remove(`/surveys/${gone}`);
    await isErased(gone);
    const deleted = deletedSurveys();
    assert.equal(await deleted.purge(later - 2 * dayMs), 0);
    assert.ok((await left(gone)).includes('questions'));
    const before = await left(kept);
    assert.equal(await deleted.purge(later), 1);
    assert.deepEqual([await left(gone), await left(kept)], [[], before]);
    assert.deepEqual(
      (await admin.get(`/audit?surveyId=${gone}&objectKind=survey`)).map(({ action }: any) => action),
      ['survey.deleted', 'translation.changed', 'survey.created'],
    );
    for (const path of [`/surveys/${gone}`, `/analytics/surveys/${gone}`, `/public/surveys/${gone}`])
      assert.equal((await admin.call('GET', path)).status, 404);
    assert.equal((await admin.submit(gone, { answers: [] })).status, 404);
    assert.equal((await admin.get(`/surveys/${kept}`)).questions.length, 1);
  });

  it('are removed although another deleted survey cannot be', async () => {
    const [held, fails, gone] = [await make(), await make(), await make()];
    for (const id of [held, fails, gone]) await admin.remove(`/surveys/${id}`);
    for (const id of [held, fails, gone]) await isErased(id);
    await database.sql
      .unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON surveys FOR EACH ROW WHEN (OLD.id = '${fails}') EXECUTE FUNCTION refuse()`)
      .simple();
    const deleted = deletedSurveys();
    await database.sql.begin(async (tx) => {
      await tx`SELECT FROM surveys WHERE id = ${held} FOR UPDATE`;
      assert.equal(await deleted.purge(later), 1);
    });
    assert.deepEqual(
      [(await left(held)).includes('surveys'), (await left(fails)).includes('surveys'), await left(gone)],
      [true, true, []],
    );
    assert.equal(await deleted.purge(later, AbortSignal.abort()), 0);
    assert.equal(await deleted.purge(later), 1);
    await database.sql.unsafe('DROP TRIGGER refuse ON surveys');
    assert.equal(await deleted.purge(later), 1);
    const indexes = await database.sql<
      { indexdef: string }[]
    >`SELECT indexdef FROM pg_indexes WHERE tablename = 'ai_jobs'`;
    assert.ok(
      indexes.some(({ indexdef }) => indexdef.includes('(survey_id) WHERE (survey_id IS NOT NULL)')),
      'its jobs are found by an index',
    );
  });

  it('stay until the deletion is finished in every store', async () => {
    const id = await make();
    await admin.remove(`/surveys/${id}`);
    await isErased(id);
    await database.sql`INSERT INTO outbox (kind, payload) VALUES ('of a version to come', ${database.sql.json({ surveyId: id })})`;
    const [deleted, unknown] = [deletedSurveys(), newId()];
    const absent = { surveyId: unknown, isKnown: false };
    assert.deepEqual([...(await deleted.findAbsent([id, unknown]))], [absent]);
    assert.equal(await deleted.purge(later), 0);
    assert.ok((await left(id)).includes('surveys'));
    await database.sql`DELETE FROM outbox WHERE kind = 'of a version to come'`;
    const found = await deleted.findAbsent([id, unknown, await make()]);
    assert.deepEqual([...found], [{ surveyId: id, isKnown: true }, absent]);
    assert.equal(await deleted.purge(later), 1);
  });

  it('are deleted if the audit has it, and only then', async () => {
    const id = await make();
    const state = async () => [
      (await admin.call('GET', `/surveys/${id}`)).status,
      (await admin.get(`/audit?surveyId=${id}&action=survey.deleted`)).length,
    ];
    await database.sql
      .unsafe(`CREATE FUNCTION refuse_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON audit FOR EACH ROW WHEN (NEW.action = 'survey.deleted')
        EXECUTE FUNCTION refuse_event()`)
      .simple();
    await admin.call('DELETE', `/surveys/${id}`);
    assert.deepEqual(await state(), [200, 0]);
    await database.sql`DROP TRIGGER refuse ON audit`;
    await admin.remove(`/surveys/${id}`);
    assert.deepEqual(await state(), [404, 1]);
  });
});
