import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { createUploadRows } from '../../../../src/stores/postgres/uploads.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

const createdAt = new Date('2026-01-01T10:00:00Z');
const [soon, dayLater] = [new Date('2026-01-01T10:01:00Z'), new Date('2026-01-02T11:00:00Z')];
const stored = { mimeType: 'text/plain', size: 3, sha256: '00', createdAt };

describe('uploads in PostgreSQL', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  async function setUp() {
    const { surveyId } = await analysedSurvey(database, '');
    const rows = createUploadRows(database.sql);
    const begin = async (): Promise<string> => {
      const id = newId();
      await rows.begin({ id, surveyId, questionId: newId(), fileName: 'notes.txt', createdAt });
      return id;
    };
    const add = async (): Promise<string> => {
      const id = await begin();
      assert.ok(await rows.complete({ id, ...stored }));
      return id;
    };
    return { surveyId, rows, begin, add };
  }

  it('are marked part by part where their survey is erased, and keep the rows of files that are being written', async () => {
    const { surveyId, rows, begin, add } = await setUp();
    const [writing, whole, claimed] = [await begin(), await add(), await add()];
    await rows.claim(surveyId, newId(), [claimed]);
    const marked: string[] = [];
    for (let ids = await rows.markOfSurvey(surveyId, 2); ids.length > 0; ids = await rows.markOfSurvey(surveyId, 2)) {
      assert.ok(ids.length <= 2);
      marked.push(...ids);
    }
    assert.deepEqual(marked.toSorted(), [writing, whole, claimed].toSorted());
    await rows.remove(marked, createdAt);
    assert.deepEqual(await rows.findExisting(marked), [writing], 'its file may be written at this moment');
    assert.ok((await rows.findUnfinished(dayLater, 1000)).includes(writing));
    assert.equal(await rows.complete({ id: writing, ...stored }), false);
    await rows.removeBegun(writing);
    assert.deepEqual(await rows.findExisting([writing]), []);
  });

  it('that were begun and never completed are found, and their rows removed, a day later', async () => {
    const { rows, begin, add } = await setUp();
    const [dead, whole] = [await begin(), await add()];
    await rows.removeBegun(whole);
    assert.ok(!(await rows.findUnfinished(createdAt, 1000)).includes(dead));
    assert.ok((await rows.findUnfinished(dayLater, 1000)).includes(dead));
    await rows.remove([dead, whole], dayLater);
    assert.deepEqual(await rows.findExisting([dead, whole]), [whole], 'it is complete, and not to be removed');
  });

  it('are marked, released, settled and doubted in one survey of those that hold their response’s id', async () => {
    const [one, other] = [await setUp(), await setUp()];
    const [responseId, { rows }] = [newId(), one];
    const [file, foreign] = [await one.add(), await other.add()];
    await rows.claim(one.surveyId, responseId, [file]);
    await rows.claim(other.surveyId, responseId, [foreign]);
    const far = new Date('2100-01-01T00:00:00Z');
    const unverified = async () =>
      (await rows.findUnverifiedResponses(far, 1000))
        .filter((response) => response.responseId === responseId)
        .map(({ surveyId }) => surveyId);
    assert.deepEqual((await unverified()).toSorted(), [one.surveyId, other.surveyId].toSorted());
    await rows.settleClaims({ surveyId: one.surveyId, responseId }, far, { ids: [file], isFinal: true });
    assert.deepEqual(await unverified(), [other.surveyId]);
    assert.deepEqual(await rows.markUnverified(other.surveyId, [responseId]), [{ uploadId: foreign, responseId }]);
    assert.deepEqual(await unverified(), [other.surveyId]);
    await rows.releaseAll(one.surveyId, responseId);
    assert.equal((await rows.find(foreign))?.responseId, responseId);
    assert.deepEqual(await rows.markOfResponse({ surveyId: one.surveyId, responseId }, [foreign]), []);
    assert.deepEqual(await rows.markOfResponse({ surveyId: one.surveyId, responseId }), [file]);
    assert.equal((await rows.find(foreign))?.responseId, responseId);
  });

  it('cannot be claimed by a response that has their id', async () => {
    const { surveyId, rows, add } = await setUp();
    const id = await add();
    assert.deepEqual(await rows.claim(surveyId, id, [id]), []);
    assert.equal((await rows.claim(surveyId, newId(), [id])).length, 1);
  });

  it('are left unclaimed in surveys whose responses could not be looked up', async () => {
    const [away, there] = [await setUp(), await setUp()];
    const [kept, removed] = [await away.add(), await there.add()];
    assert.deepEqual(
      (await there.rows.findUnclaimed(dayLater, soon))
        .map(({ id }) => id)
        .filter((id) => [kept, removed].includes(id))
        .toSorted(),
      [kept, removed].toSorted(),
    );
    const marked = await there.rows.markUnclaimed(dayLater, [away.surveyId]);
    assert.deepEqual([marked.includes(kept), marked.includes(removed)], [false, true]);
  });
});
