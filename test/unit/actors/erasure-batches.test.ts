import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createErasureBatches } from '../../../src/actors/erasure/batches.ts';
import { newId } from '../../../src/platform/ids.ts';
import { emptyStoresAt, nothing } from '../../support/erasure-stores.ts';

it('responses are erased in batches of 500 and read as many at once as may be erased', async () => {
  const surveyId = newId();
  let left = Array.from({ length: 1200 }, (_, index) => index);
  const [read, erased]: [number[], number[]] = [[], []];
  const erase = createErasureBatches({
    ...emptyStoresAt(0),
    responses: {
      findMarkedForDeletion: async (_surveyId, _selection, limit, after) => {
        const found = left.filter((at) => at > (after?.submittedAtMs ?? -1)).slice(0, limit);
        read.push(found.length);
        return found.map((at) => ({ surveyId, responseId: `${at}`, submittedAtMs: at, outcome: 'COMPLETED' }));
      },
    },
    removal: {
      removeAll: async (all) => {
        erased.push(all.length);
        left = left.filter((at) => !all.some(({ submittedAtMs }) => submittedAtMs === at));
        return all.length;
      },
      eraseDeadLetters: async () => 0,
    },
  });
  const options = { announce: nothing, maxPauseMs: 0, expireFiles: nothing, deadLetters: async () => [] };
  await erase(surveyId, { before: new Date(5000) }, { ...options, limit: 20_000 });
  assert.deepEqual(erased, [500, 500, 200]);
  assert.deepEqual(read, [1200, 0, 0], 'what follows, and once more all');
});

it('responses behind a batch that others have erased since it was read are erased all the same', async () => {
  const surveyId = newId();
  let left = Array.from({ length: 1200 }, (_, index) => index);
  const erased: number[] = [];
  const erase = createErasureBatches({
    ...emptyStoresAt(0),
    responses: {
      findMarkedForDeletion: async (_surveyId, _selection, limit, after) =>
        left
          .filter((at) => at > (after?.submittedAtMs ?? -1))
          .slice(0, limit)
          .map((at) => ({ surveyId, responseId: `${at}`, submittedAtMs: at, outcome: 'COMPLETED' })),
    },
    removal: {
      removeAll: async (all) => {
        const before = left.length;
        left = left.filter((at) => !all.some(({ submittedAtMs }) => submittedAtMs === at));
        erased.push(before - left.length);
        const count = before - left.length;
        // Another call erases the next five hundred.
        if (erased.length === 1) left = left.slice(500);
        return count;
      },
      eraseDeadLetters: async () => 0,
    },
  });
  const options = { announce: nothing, maxPauseMs: 0, expireFiles: nothing, deadLetters: async () => [] };
  const { isFinished } = await erase(surveyId, { before: new Date(5000) }, { ...options, limit: 20_000 });
  assert.deepEqual([isFinished, erased], [true, [500, 0, 200]]);
});

it('expired responses are read from where the last batch ended, and once more from the beginning', async () => {
  const surveyId = newId();
  let left = Array.from({ length: 700 }, (_, index) => index);
  const asked: unknown[] = [];
  const erase = createErasureBatches({
    ...emptyStoresAt(0),
    responses: {
      findMarkedForDeletion: async (_surveyId, _selection, limit, after) => {
        asked.push(after?.submittedAtMs);
        return left
          .filter((at) => at > (after?.submittedAtMs ?? -1))
          .slice(0, limit)
          .map((at) => ({ surveyId, responseId: `${at}`, submittedAtMs: at, outcome: 'COMPLETED' }));
      },
    },
    removal: {
      removeAll: async (all) => {
        const before = left.length;
        left = left.filter((at) => !all.some(({ submittedAtMs }) => submittedAtMs === at));
        return before - left.length;
      },
      eraseDeadLetters: async () => 0,
    },
  });
  const options = { announce: nothing, maxPauseMs: 0, expireFiles: nothing, deadLetters: async () => [] };
  const erased = await erase(surveyId, { before: new Date(1000) }, { ...options, limit: 500 });
  assert.deepEqual([erased.removed, erased.next?.submittedAtMs], [500, 499]);
  await erase(surveyId, { before: new Date(1000) }, { ...options, limit: 500, after: erased.next });
  assert.deepEqual([left, asked], [[], [undefined, 499, 499, 699, undefined]]);
});
