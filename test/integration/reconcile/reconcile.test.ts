import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createSurveyActors } from '../../../src/actors/survey-actors.ts';
import { blankSurvey } from '../../../src/domain/blank-survey.ts';
import { createLog } from '../../../src/log.ts';
import { createCloseEndedSurveys } from '../../../src/pipelines/maintenance/close-ended-surveys.ts';
import { createReconcileCounts } from '../../../src/pipelines/maintenance/reconcile-counts.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createSurveyVersions } from '../../../src/stores/postgres/survey-versions.ts';
import { createSurveyStore } from '../../../src/stores/postgres/surveys.ts';
import { createIntake } from '../../../src/stores/redis/intake/intake.ts';
import { createShards, surveyKey } from '../../../src/stores/redis/intake/shards.ts';
import { type OwnedDatabase, ownedDatabase } from '../../support/owned-database.ts';
import { openPatientRedis } from '../../support/patient-redis.ts';
import { sharedStores } from '../../support/stores.ts';

const log = createLog('silent');
const shards = createShards(2);
let database: OwnedDatabase;
let redis: Redis;
const known: string[] = [];

before(async () => {
  database = await ownedDatabase();
  redis = await openPatientRedis(new URL('/6', (await sharedStores()).redisUrl).href);
});
after(async () => {
  for (const surveyId of known) await redis.del(surveyKey(shards.of(surveyId), surveyId));
  await redis.quit();
  await database.drop();
});

it('counts that a dead process did not save are corrected from the intake, and a full survey is closed', async () => {
  const surveys = createSurveyStore(database.sql);
  const intake = createIntake({ redis, shards, metrics: { committed: () => undefined, submitted: () => undefined } });
  const [stale, right, unheard, full] = [newId(), newId(), newId(), newId()];
  for (const id of [stale, right, unheard]) await surveys.create(blankSurvey(id, database.ownerId, Date.now()));
  await surveys.create({ ...blankSurvey(full, database.ownerId, Date.now()), status: 'ACTIVE', responseQuota: 3 });
  await surveys.saveCounts([
    { surveyId: right, responses: 4, completed: 4 },
    { surveyId: unheard, responses: 9, completed: 9 },
  ]);
  for (const [surveyId, total] of [
    [stale, 5],
    [right, 4],
    [full, 3],
  ] as const) {
    known.push(surveyId);
    await intake.announce({ surveyId, revision: 1, quota: null, codePositions: 0, total, completed: total });
  }
  const closed: string[] = [];
  await createReconcileCounts({
    surveys,
    intake,
    log,
    actors: {
      quotaFilled: async (surveyId) => {
        closed.push(surveyId);
        return undefined as never;
      },
      repairSuperseded: async () => false,
    },
  })();
  assert.deepEqual(await Promise.all([stale, right, unheard, full].map(surveys.responseCount)), [5, 4, 9, 3]);
  assert.deepEqual(closed, [full]);
});

it('counts that the follow-up of a batch saves meanwhile are not replaced by older ones', async () => {
  const surveys = createSurveyStore(database.sql);
  const intake = createIntake({ redis, shards, metrics: { committed: () => undefined, submitted: () => undefined } });
  const [moved, stale] = [newId(), newId()];
  for (const surveyId of [moved, stale]) {
    known.push(surveyId);
    await surveys.create(blankSurvey(surveyId, database.ownerId, Date.now()));
    await surveys.saveCounts([{ surveyId, responses: 9, completed: 8 }]);
    await intake.announce({ surveyId, revision: 1, quota: null, codePositions: 0, total: 10, completed: 8 });
  }
  let reads = 0;
  await createReconcileCounts({
    surveys,
    intake: {
      ...intake,
      counts: async (surveyId) => {
        const found = await intake.counts(surveyId);
        if (surveyId === moved) reads += 1;
        if (surveyId === moved && reads === 2) await surveys.saveCounts([{ surveyId, responses: 11, completed: 9 }]);
        return found;
      },
    },
    log,
    actors: { quotaFilled: () => assert.fail('no quota is full'), repairSuperseded: async () => false },
  })();
  assert.equal(reads, 2);
  assert.deepEqual(await Promise.all([moved, stale].map(surveys.responseCount)), [11, 10]);
});

it('a survey whose row is older than the intake gets a later revision and version, and others stay', async () => {
  const surveys = createSurveyStore(database.sql);
  const intake = createIntake({ redis, shards, metrics: { committed: () => undefined, submitted: () => undefined } });
  const [older, right, deleted] = [newId(), newId(), newId()];
  for (const id of [older, right, deleted]) {
    known.push(id);
    await surveys.create({ ...blankSurvey(id, database.ownerId, Date.now()), responseQuota: 7 });
    await intake.announce({
      surveyId: id,
      revision: id === older ? 8 : 1,
      quota: 9,
      codePositions: 4,
      total: 5,
      completed: 5,
    });
  }
  await surveys.remove(deleted);
  await intake.markDeleted(deleted);
  const actors = createSurveyActors({
    surveys,
    intake,
    log,
    now: Date.now,
    audit: { record: async () => undefined },
    countResponses: () => assert.fail('the intake knows'),
    broadcast: () => undefined,
    metrics: { surveysCached: () => undefined },
  });
  await createReconcileCounts({ surveys, intake, log, actors })();
  actors.stop();
  assert.deepEqual([(await surveys.find(older))?.revision, (await surveys.find(right))?.revision], [9, 1]);
  const versions = createSurveyVersions(database.sql);
  // Responses may name one of the versions that were lost: none of them may come to mean another wording.
  assert.deepEqual([(await surveys.find(older))?.version, (await surveys.find(right))?.version], [9, 1]);
  assert.deepEqual(
    [await versions.find(older, 8), (await versions.find(older, 9))?.definition.questions],
    [undefined, []],
  );
  assert.deepEqual(await Promise.all([older, right, deleted].map(intake.revision)), [9, 1, Number.MAX_SAFE_INTEGER]);
  assert.deepEqual(
    [await redis.hget(surveyKey(shards.of(older), older), 'quota'), await intake.counts(older)],
    ['7', { total: 5, completed: 5 }],
  );
});

it('every survey past its end is closed in one run, even if many cannot be', async () => {
  const surveys = createSurveyStore(database.sql);
  const [start, end] = [Date.now() - 10_000, new Date(Date.now() - 5000)];
  const due = Array.from({ length: 230 }, () => newId()).sort();
  for (const id of due)
    await surveys.create({ ...blankSurvey(id, database.ownerId, start), status: 'ACTIVE', endsAt: end });
  await surveys.create({
    ...blankSurvey(newId(), database.ownerId, start),
    status: 'ACTIVE',
    endsAt: new Date(Date.now() + 60_000),
  });
  await surveys.create({ ...blankSurvey(newId(), database.ownerId, start), status: 'CLOSED', endsAt: end });
  const asked: string[] = [];
  const timeReached = async (surveyId: string) => {
    asked.push(surveyId);
    throw new Error('only a newer version can close it');
  };
  const turn = createCloseEndedSurveys({ surveys, actors: { timeReached }, now: Date.now, log });
  await turn();
  assert.deepEqual(asked.sort(), due);
  await turn();
  assert.equal(asked.length, 2 * due.length);
});
