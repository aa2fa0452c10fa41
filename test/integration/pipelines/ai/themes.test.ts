import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { planThemeNames } from '../../../../src/domain/analytics/theme-names.ts';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { loadKnownThemes } from '../../../../src/pipelines/ai/analysis/themes.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAiAnnotationRows } from '../../../../src/stores/postgres/ai/annotations.ts';
import { createAiStore, type SurveyJob } from '../../../../src/stores/postgres/ai/jobs.ts';
import { createThemeNameStore } from '../../../../src/stores/postgres/ai/theme-names.ts';
import { lockTopic } from '../../../../src/stores/postgres/ai/topics.ts';
import type { Sql } from '../../../../src/stores/postgres/client.ts';
import { postgres } from '../../../../src/stores/postgres/driver.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { valueTypes } from '../../../../src/stores/postgres/value-types.ts';
import { eventually } from '../../../support/eventually.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

describe('the names of themes', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  const topic = 'themes/test';
  const openScope = async () => {
    const { sql } = database;
    const surveyId = newId();
    await createSurveyStore(sql).create(blankSurvey(surveyId, database.ownerId, Date.now()));
    const store = createAiStore(sql);
    const scope = { surveyId, topic };
    const find = async (...themes: string[]): Promise<string> => {
      const responseId = newId();
      await store.saveAnnotations({ ...scope, id: newId(), claim: null }, [
        { responseId, questionId: newId(), digest: Buffer.alloc(16), content: { themes, sentiment: 'neutral' } },
      ]);
      return responseId;
    };
    const known = async () =>
      (
        await sql<
          { name: string; shown: string }[]
        >`SELECT name, shown FROM ai_themes WHERE survey_id = ${surveyId} ORDER BY name`
      ).map(({ name, shown }) => [name, shown]);
    const job = { surveyId, topic } as SurveyJob;
    return { sql, surveyId, store, scope, find, known, job };
  };

  it('that people gave go with the last answer that has the theme, and settle what they name', async () => {
    const { sql, surveyId, store, scope, find } = await openScope();
    const rows = createAiAnnotationRows(sql);
    const names = createThemeNameStore(sql);
    await store.registerThemes(scope, [
      { name: 'Queues', form: 'queue' },
      { name: 'Soup', form: 'soup' },
    ]);
    const plan = (theme: string, name: string) =>
      names.change(surveyId, (known) => {
        const planned = planThemeNames({ names: known, shown: ['Queues', 'Soup'] }, [{ theme, name }]);
        assert.ok('names' in planned);
        return planned;
      });
    await Promise.all([plan('Queues', 'Waiting'), plan('Soup', 'Food')]);
    await store.registerThemes(scope, [
      { name: 'waiting', form: 'waiting' },
      { name: 'Staff', form: 'staff' },
    ]);
    const settled = await sql<{ name: string }[]>`
      SELECT name FROM ai_themes WHERE survey_id = ${surveyId} AND is_settled ORDER BY name`;
    assert.deepEqual(
      settled.map(({ name }) => name),
      ['Queues', 'Soup', 'waiting'],
    );
    const first = await find('Queues');
    await find('Soup');
    await rows.removeOfResponses(surveyId, [first]);
    await rows.removeLeftoverThemes();
    assert.deepEqual([...(await names.load(surveyId)).values()], [{ theme: 'Soup', name: 'Food' }]);
    await rows.removeOfSurvey(surveyId);
    assert.equal((await names.load(surveyId)).size, 0);
  });

  it('are not removed while an analysis runs that began meanwhile', async () => {
    const { sql, surveyId, store, scope, find, known } = await openScope();
    const rows = createAiAnnotationRows(sql);
    await store.registerThemes(scope, [{ name: 'Queues', form: 'queue' }]);
    await rows.removeOfResponses(surveyId, [await find('Queues')]);
    let forgetting: Promise<void> = Promise.resolve();
    await sql.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${surveyId}/${topic}`}, 0))`;
      let isOver = false;
      forgetting = rows.removeLeftoverThemes().finally(() => {
        isOver = true;
        return isOver;
      });
      const isHeld = async () =>
        (await sql`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).length > 0;
      await eventually(async () => assert.ok(isOver || (await isHeld())), 30_000, 5);
      await tx`INSERT INTO ai_jobs ${tx({ id: newId(), owner_id: database.ownerId, survey_id: surveyId, topic, request: {}, status: 'RUNNING' })}`;
    });
    await forgetting;
    assert.deepEqual(await known(), [['Queues', 'Queues']]);
    await sql`UPDATE ai_jobs SET status = 'FAILED' WHERE survey_id = ${surveyId}`;
    await rows.removeLeftoverThemes();
    assert.deepEqual(await known(), [], 'once nothing is under way they are');
    assert.equal((await sql`SELECT FROM ai_theme_leftovers`).length, 0);
  });

  it('keep their leftover mark until they are removed, and a later deletion leaves its own', async () => {
    const { sql, surveyId, store, scope, find, known } = await openScope();
    const rows = createAiAnnotationRows(sql);
    await store.registerThemes(scope, [
      { name: 'Queues', form: 'queue' },
      { name: 'Soup', form: 'soup' },
    ]);
    const [queues, soup] = [await find('Queues'), await find('Soup')];
    await rows.removeOfResponses(surveyId, [queues]);
    let forgetting: Promise<unknown> = Promise.resolve();
    await sql.begin(async (tx) => {
      // The removal of names has read the annotations, and waits here.
      await tx`SELECT FROM ai_themes WHERE survey_id = ${surveyId} FOR UPDATE`;
      forgetting = rows.removeLeftoverThemes();
      await eventually(
        async () =>
          assert.ok(
            (await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
              .length > 0,
          ),
        30_000,
        5,
      );
      assert.ok((await sql`SELECT FROM ai_theme_leftovers`).length > 0, 'a process that died now would have lost it');
      await rows.removeOfResponses(surveyId, [soup]);
    });
    await forgetting;
    await rows.removeLeftoverThemes();
    assert.deepEqual([await known(), (await sql`SELECT FROM ai_theme_leftovers`).length], [[], 0]);
  });

  it('are registered again by an analysis if answers have one that was removed', async () => {
    const { store, find, known, job } = await openScope();
    await find('Parking');
    const themes = await loadKnownThemes(store, job);
    assert.deepEqual(themes.names(), ['Parking']);
    await themes.add([{ themes: ['Parking', 'parking'] }]);
    assert.deepEqual(await known(), [
      ['Parking', 'Parking'],
      ['parking', 'Parking'],
    ]);
  });

  it('are merged with their spellings where an earlier version stored them in lower case only', async () => {
    const { sql, surveyId, store, find, known, job } = await openScope();
    await sql`INSERT INTO ai_themes ${sql({ survey_id: surveyId, topic, name: 'Long queues', form: 'long queues', shown: 'Long queues', is_settled: true })}`;
    await find('Long queues');
    await (await loadKnownThemes(store, job)).add([{ themes: ['Long queue'] }]);
    assert.deepEqual(await known(), [
      ['Long queue', 'Long queues'],
      ['Long queues', 'Long queues'],
    ]);
  });

  it('wait for a change of them that takes longer than other statements may', async () => {
    const { sql, store, scope, known } = await openScope();
    await store.registerThemes(scope, [{ name: 'Queues', form: 'queue' }]);
    const hasty: Sql = postgres(database.url, {
      max: 2,
      connection: { statement_timeout: 1000, application_name: 'hasty' },
      types: valueTypes,
    });
    const hurried = createAiStore(hasty);
    const waitLong = async () =>
      (
        await sql`SELECT FROM pg_stat_activity WHERE application_name = 'hasty' AND wait_event_type = 'Lock'
          AND query_start < now() - interval '1500 ms'`
      ).count;
    let changes: Promise<unknown> = Promise.resolve();
    try {
      await sql.begin(async (tx) => {
        await lockTopic(tx, scope);
        changes = Promise.all([
          hurried.registerThemes(scope, [{ name: 'Soup', form: 'soup' }]),
          hurried.mergeThemes(scope, { merges: [], settled: ['Queues'] }),
        ]);
        await Promise.race([eventually(async () => assert.equal(await waitLong(), 2)), changes]);
      });
      await changes;
    } finally {
      await hasty.end();
    }
    assert.deepEqual(await known(), [
      ['Queues', 'Queues'],
      ['Soup', 'Soup'],
    ]);
  });
});
