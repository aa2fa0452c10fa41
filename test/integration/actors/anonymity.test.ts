import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAnonymity } from '../../../src/actors/anonymity.ts';
import { blankSurvey } from '../../../src/domain/blank-survey.ts';
import { unavailable } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createPostgres, type Sql } from '../../../src/stores/postgres/client.ts';
import { createSurveyStore } from '../../../src/stores/postgres/surveys.ts';
import { type OwnedDatabase, ownedDatabase } from '../../support/owned-database.ts';

describe('switching anonymity on', () => {
  let database: OwnedDatabase;
  let narrow: Sql;
  before(async () => {
    database = await ownedDatabase();
    narrow = createPostgres(database.url, { log: createLog('error'), poolSize: 1 });
  });
  after(async () => {
    await narrow?.end({ timeout: 2 });
    await database?.drop();
  });

  it('is reverted also where the calls before it hold PostgreSQL until waiting for the revert is given up', async () => {
    const surveys = createSurveyStore(narrow);
    const survey = await surveys.create(blankSurvey(newId(), database.ownerId, Date.now()));
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let held: Promise<unknown> = Promise.resolve();
    const saveWithAnonymity = createAnonymity({
      intake: { counts: async () => ({ total: 0, completed: 0 }) },
      countResponses: async () => ({ total: 0, complete: 0 }),
      change: surveys.change,
      async announce() {
        await new Promise<void>((resolve) => {
          held = narrow.begin(async (tx) => {
            await tx`SELECT 1`;
            resolve();
            await released;
          });
        });
        throw unavailable('The intake is away');
      },
      now: Date.now,
      log: createLog('silent'),
    });
    await assert.rejects(
      saveWithAnonymity(survey.id, async (current) => ({
        survey: { ...current, isAnonymous: true },
        isWordingChanged: false,
      })),
      { message: 'The intake is away' },
    );
    release();
    await held;
    // By the connection of the pool, which comes after the revert that waits for it.
    const [row] = await narrow`SELECT is_anonymous, anonymity_begun FROM surveys WHERE id = ${survey.id}`;
    assert.deepEqual({ ...row }, { is_anonymous: false, anonymity_begun: null });
  });
});
