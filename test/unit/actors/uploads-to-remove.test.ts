import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDeadLetters } from '../../../src/actors/dead-letters.ts';
import { createResponseRemoval } from '../../../src/actors/erasure/removal.ts';
import { encodeResponse } from '../../../src/domain/response-row.ts';
import { pageResponseId } from '../../../src/domain/submission/page-response-id.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import type { UseOfId } from '../../../src/stores/clickhouse/write/erasure.ts';
import { createShards } from '../../../src/stores/redis/intake/shards.ts';
import { deadLettersOf, fakeDeadLetters } from '../../support/dead-letters.ts';

describe('of a response whose id was used again', () => {
  const [surveyId, responseId] = [newId(), newId()];
  const [first, second, third] = [newId(), newId(), newId()];
  const use = (submittedAtMs: number, uploadIds: string[], isDeleted = false): UseOfId => ({
    responseId,
    submittedAtMs,
    uploadIds,
    isDeleted,
  });
  const marked = (submittedAtMs: number, id = responseId) =>
    ({ surveyId, responseId: id, submittedAtMs, outcome: 'COMPLETED' }) as const;
  const saved = (submittedAtMs: number, uploadId: string): string =>
    encodeResponse(
      {
        surveyId,
        responseId,
        submittedAtMs,
        version: 1,
        surveyVersion: 1,
        outcome: 'COMPLETED',
        completedAtMs: submittedAtMs,
        durationMs: -1,
        language: 'en',
        respondent: '',
        metadata: {},
      },
      { codes: [1], numbers: [], texts: [`${uploadId} image/png`] },
    );
  /** Its head can be read, its answers cannot. */
  const damaged = (submittedAtMs: number): string =>
    JSON.stringify([surveyId, responseId, submittedAtMs, 1, 0, 1, 1, 0, -1, 'en', '', {}, [], ['text', 7]]);

  /** Stores in which the id has these claims, and these others once its tombstone is written. */
  function setUp({
    claimed = [first, second, third],
    stored = [],
    letters = [],
    onCaughtUp = () => undefined,
    claimsLater = [],
  }: {
    claimed?: string[];
    stored?: UseOfId[];
    letters?: string[];
    onCaughtUp?(): void;
    claimsLater?: string[];
  }) {
    const deadLetters = createDeadLetters({
      stream: {
        findDeadLetters: fakeDeadLetters(() => deadLettersOf(letters)),
        removeDeadLetters: async () => undefined,
      },
      shards: createShards(1),
    });
    let searches = 0;
    const removal = createResponseRemoval({
      intake: {
        deleteResponse: async () => {
          claimed = [...claimed, ...claimsLater];
          return true;
        },
      },
      reading: { caughtUp: async () => onCaughtUp() },
      responses: {
        findUses: async (_surveyId, ids) => {
          searches += 1;
          return stored.filter((each) => ids.includes(each.responseId));
        },
        wasDeleted: async (_id, atMs) => stored.some((each) => each.submittedAtMs === atMs && each.isDeleted),
      },
      uploads: {
        removeOfResponse: async (_response, ids = claimed) => {
          claimed = claimed.filter((id) => !ids.includes(id));
          return ids.length;
        },
      },
      uploadRows: {
        markUnverified: async (_surveyId, [id = '']) => claimed.map((uploadId) => ({ uploadId, responseId: id })),
      },
      annotations: { removeOfResponses: async () => undefined },
      deadLetters,
      now: () => 0,
    });
    return { ...removal, deadLetters, left: () => claimed, searches: () => searches };
  }

  it('the uploads go that no response names which stays', async () => {
    const stored = [use(1, [first, second]), use(2, [second]), use(3, [third], true)];
    for (const [times, left] of [
      [[1], [second]],
      [[2], [first, second]],
      [[1, 2], []],
    ] as const) {
      const world = setUp({ stored });
      await world.removeAll(times.map((atMs) => marked(atMs)));
      assert.deepEqual(world.left(), left);
    }
  });

  it('a dead letter keeps what it names, unless its response is deleted', async () => {
    const letters = [saved(2, second)];
    const world = setUp({ stored: [use(1, [first])], letters });
    await world.removeAll([marked(1)]);
    assert.deepEqual(world.left(), [second]);
    for (const lines of [[damaged(2)], [saved(1, second)]]) {
      const doubtful = setUp({ stored: [use(1, [first])], letters: lines });
      await doubtful.removeAll([marked(1)]);
      assert.deepEqual(doubtful.left(), []);
    }
    const deletedBefore = setUp({ stored: [use(1, [first]), use(2, [second], true)], letters });
    await deletedBefore.removeAll([marked(1)]);
    assert.deepEqual(deletedBefore.left(), []);
  });

  it('the stored one keeps what it names where a dead letter is erased', async () => {
    const world = setUp({ stored: [use(1, [first])], letters: [saved(2, second)] });
    await world.eraseDeadLetters(surveyId, await world.deadLetters.ofSurvey(surveyId));
    assert.deepEqual(world.left(), [first]);
  });

  it('one that is accepted meanwhile keeps what it names', async () => {
    const stored = [use(1, [first])];
    const world = setUp({
      claimed: [first, second],
      stored,
      onCaughtUp: () => void stored.push(use(2, [second])),
      claimsLater: [third],
    });
    await world.removeAll([marked(1)]);
    assert.deepEqual(world.left(), [second, third]);
  });

  it('others are looked for only where the id may be used again and has claims', async () => {
    for (const [id, claimed] of [
      [newResponseId(), [first]],
      [pageResponseId(newId(), 1), [first]],
      [responseId, []],
    ] as const) {
      const world = setUp({ claimed: [...claimed] });
      await world.removeAll([marked(1, id)]);
      assert.deepEqual([world.left(), world.searches()], [[], 0]);
    }
  });
});
