import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { createDeadLetters } from '../../../../src/actors/dead-letters.ts';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { createLog } from '../../../../src/log.ts';
import { createRemoveOldVersions } from '../../../../src/pipelines/maintenance/remove-old-versions.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createSurveyVersions } from '../../../../src/stores/postgres/survey-versions.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { deadLettersOf, fakeDeadLetters } from '../../../support/dead-letters.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';
import { openResponseDatabase, type ResponseDatabase, responseLine } from '../../../support/response-database.ts';

let database: OwnedDatabase;
let stored: ResponseDatabase;
before(async () => {
  database = await ownedDatabase();
  stored = await openResponseDatabase();
});
after(async () => {
  await database.drop();
  await stored.close();
});

const edits = 40;

/** A survey that was reworded so often, hours ago. */
async function reworded(): Promise<string> {
  const surveys = createSurveyStore(database.sql);
  const surveyId = newId();
  await surveys.create(blankSurvey(surveyId, database.ownerId, Date.now()));
  for (let edit = 0; edit < edits; edit += 1)
    await surveys.change(surveyId, (survey) => ({
      survey: { ...survey, title: `Wording ${edit}` },
      isWordingChanged: true,
    }));
  return surveyId;
}

const versionsOf = async (surveyId: string): Promise<number[]> =>
  (
    await database.sql<
      { version: number }[]
    >`SELECT version FROM survey_versions WHERE survey_id = ${surveyId} ORDER BY version`
  ).map(({ version }) => version);

const sweep = (letters: readonly string[], hoursLater = 48, caughtUp = async (): Promise<void> => undefined) =>
  createRemoveOldVersions({
    versions: createSurveyVersions(database.sql),
    responses: stored.responses,
    reading: { caughtUp },
    now: () => Date.now() + hoursLater * 3_600_000,
    log: createLog('silent'),
    deadLetters: createDeadLetters({
      shards: createShards(1),
      stream: {
        findDeadLetters: fakeDeadLetters(() => deadLettersOf(letters)),
        removeDeadLetters: async () => undefined,
      },
    }),
  })();

/** The current version and the twenty before it. */
const newest = Array.from({ length: 21 }, (_, index) => edits + 1 - 20 + index);

it('survey versions without a response, dead letter or export are removed a day after they were replaced', async () => {
  const [surveyId, other] = [await reworded(), await reworded()];
  await stored.store([
    responseLine({ surveyId, surveyVersion: 3 }),
    responseLine({ surveyId, surveyVersion: 3, version: 2, responseId: newId() }),
    responseLine({ surveyId, surveyVersion: 7, outcome: 'PARTIAL' }),
    responseLine({ surveyId: other, surveyVersion: 9 }),
  ]);
  await database.sql`INSERT INTO exports (id, survey_id, user_id, format, options, survey_version, created_at) VALUES (${newId()}, ${surveyId}, ${database.ownerId}, 'CSV', '{}', 11, now())`;
  for (const [status, version] of [
    ['COMPLETED', 12],
    ['FAILED', 13],
    ['EXPIRED', 14],
  ] as const)
    await database.sql`INSERT INTO exports (id, survey_id, user_id, format, options, survey_version, status, created_at) VALUES (${newId()}, ${surveyId}, ${database.ownerId}, 'CSV', '{}', ${version}, ${status}, now())`;
  await sweep([], 12);
  assert.equal((await versionsOf(surveyId)).length, edits + 1, 'too young');
  await sweep([responseLine({ surveyId, surveyVersion: 5 })]);
  assert.deepEqual(await versionsOf(surveyId), [3, 5, 7, 11, 12, ...newest]);
  assert.deepEqual(await versionsOf(other), [9, ...newest]);
  await sweep([]);
  assert.deepEqual(await versionsOf(surveyId), [3, 7, 11, 12, ...newest]);
});

it('no survey version is removed while responses may be on their way or dead letters cannot be read', async () => {
  const [surveyId, other] = [await reworded(), await reworded()];
  await sweep([`["${surveyId}","${newId()}","not a time",2]`]);
  assert.equal((await versionsOf(surveyId)).length, edits + 1);
  assert.deepEqual(await versionsOf(other), newest, 'one survey holds up no other');
  await sweep([], 48, async () => {
    throw new Error('still on their way');
  });
  assert.equal((await versionsOf(surveyId)).length, edits + 1);
});

it('a version that is kept was replaced when the next one was made, also once that is removed', async () => {
  const surveyId = await reworded();
  await stored.store([3, 5].map((surveyVersion) => responseLine({ surveyId, surveyVersion, responseId: newId() })));
  const versions = createSurveyVersions(database.sql);
  const replacedAt = () =>
    Promise.all([3, 5, edits + 1].map(async (version) => (await versions.find(surveyId, version))?.replacedAt));
  const before = await replacedAt();
  assert.deepEqual(before[0], (await versions.find(surveyId, 4))?.createdAt);
  await sweep([]);
  assert.deepEqual(await versionsOf(surveyId), [3, 5, ...newest]);
  assert.deepEqual(await replacedAt(), before);
});

it('a version that was replaced a day ago is removed, whatever became of those after it', async () => {
  const surveyId = await reworded();
  await database.sql`DELETE FROM survey_versions WHERE survey_id = ${surveyId} AND version BETWEEN 4 AND 18`;
  await database.sql`
    UPDATE survey_versions SET replaced_at = now() - interval '3 days' WHERE survey_id = ${surveyId} AND version = 3`;
  await sweep([], 0);
  assert.equal((await versionsOf(surveyId)).includes(3), false);
  assert.equal((await versionsOf(surveyId)).includes(2), true, 'it was replaced now');
});
