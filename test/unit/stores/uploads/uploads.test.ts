import assert from 'node:assert/strict';
import { it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createUploads, type UploadsDeps } from '../../../../src/stores/uploads/uploads.ts';

it('a file that cannot be removed, and a response that cannot be checked, leave no other file behind', async () => {
  const [locked, unclaimed, alsoUnclaimed, orphan] = [newId(), newId(), newId(), newId()];
  const removed: string[] = [];
  const rows = {
    findUnverifiedResponses: async () => [newId()],
    removeUnclaimed: async () => [unclaimed, locked, alsoUnclaimed],
    findExisting: async () => [],
  } as unknown as UploadsDeps['rows'];
  const storage = {
    remove: async (id: string) => {
      if (id === locked) throw new Error('the file is locked');
      removed.push(id);
    },
    async *list() {
      yield* [locked, orphan];
    },
  } as unknown as UploadsDeps['storage'];
  const uploads = createUploads({
    rows,
    storage,
    budget: { reserve: () => assert.fail('nothing is uploaded here') },
    unclaimedTtlMs: 3_600_000,
    now: Date.now,
    isResponseStored: async () => {
      throw new Error('its shard is behind');
    },
    findNamed: async () => undefined,
  });
  await assert.rejects(uploads.sweep(), /its shard is behind/);
  assert.deepEqual(removed, [unclaimed, alsoUnclaimed, orphan]);
});

it('a storage that is away is not asked for each of many files', async () => {
  let asked = 0;
  const uploads = createUploads({
    rows: {
      removeOfSurvey: async () => Array.from({ length: 1000 }, () => newId()),
    } as unknown as UploadsDeps['rows'],
    storage: {
      remove: async () => {
        asked += 1;
        throw unavailable('The storage of uploads cannot be reached right now', 5);
      },
    } as unknown as UploadsDeps['storage'],
    budget: { reserve: () => assert.fail('nothing is uploaded here') },
    unclaimedTtlMs: 3_600_000,
    now: Date.now,
    isResponseStored: async () => true,
    findNamed: async () => undefined,
  });
  await assert.rejects(uploads.removeOfSurvey(newId()), { code: 'SERVICE_UNAVAILABLE' });
  assert.equal(asked, 5);
});
