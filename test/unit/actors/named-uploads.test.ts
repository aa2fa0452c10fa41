import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDeadLetters } from '../../../src/actors/dead-letters.ts';
import { createFindNamedUploads } from '../../../src/actors/named-uploads.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import type { ResponseRecord } from '../../../src/stores/clickhouse/read/record.ts';
import type { ResponseState } from '../../../src/stores/redis/intake/intake.ts';
import { createShards } from '../../../src/stores/redis/intake/shards.ts';
import { deadLettersOf, fakeDeadLetters } from '../../support/dead-letters.ts';
import { responseLine } from '../../support/response-database.ts';

const [surveyId, responseId] = [newId(), newResponseId()];
const [first, second, third] = [newId(), newId(), newId()];
const submittedAtMs = Date.parse('2026-03-01T10:00:00.000Z');
const textOf = (uploadId: string) => `${uploadId} image/png`;

const stored = (version: number, outcome: Outcome, uploadId: string) =>
  ({
    version,
    outcome,
    row: { codes: [1], numbers: [], texts: ['a text', textOf(uploadId)] },
  }) as unknown as ResponseRecord;
const letter = (version: number, outcome: Outcome, uploadId: string): string =>
  responseLine({
    surveyId,
    responseId,
    submittedAtMs,
    version,
    outcome,
    ...(outcome === 'PARTIAL' && { completedAtMs: 0 }),
    texts: [textOf(uploadId)],
  });
const state = (version: number, isComplete: boolean, uploadId?: string): ResponseState => ({
  version,
  isComplete,
  surveyId,
  submittedAtMs,
  savedState:
    uploadId === undefined ? '' : JSON.stringify({ row: { codes: [], numbers: [], texts: [textOf(uploadId)] } }),
});

interface World {
  stored?: ResponseRecord;
  letters?: readonly string[];
  state?: ResponseState;
  /** Changes the world while the caller waits until ingest has caught up. */
  meanwhile?(world: World): void;
}

async function namedIn(world: World) {
  const deadLetters = createDeadLetters({
    stream: {
      findDeadLetters: fakeDeadLetters(() => deadLettersOf(world.letters ?? [])),
      removeDeadLetters: async () => undefined,
    },
    shards: createShards(1),
  });
  const named = await createFindNamedUploads({
    responses: { findAll: async () => (world.stored ? [world.stored] : []) },
    deadLetters,
    reading: { allCaughtUp: async () => world.meanwhile?.(world) },
    intake: { state: async () => world.state },
  })(surveyId, responseId);
  return named && [[...new Set(named.ids)].sort(), named.isFinal];
}

describe('the uploads that a response names', () => {
  it('are those of its stored save, its dead letters and its saved state', async () => {
    assert.deepEqual(await namedIn({ stored: stored(1, 'COMPLETED', first) }), [[first], true]);
    assert.deepEqual(
      await namedIn({
        stored: stored(3, 'PARTIAL', first),
        letters: [letter(2, 'PARTIAL', second)],
        state: state(3, false, third),
      }),
      [[first, second, third].sort(), false],
    );
    assert.deepEqual(await namedIn({ letters: [letter(1, 'COMPLETED', second)] }), [[second], true]);
  });

  it('may change while the response, or a save of it, is open', async () => {
    const complete = stored(2, 'COMPLETED', first);
    assert.deepEqual(await namedIn({ stored: complete, state: state(2, true) }), [[first], true]);
    assert.deepEqual(await namedIn({ stored: complete, state: state(1, false) }), [[first], false]);
    assert.deepEqual(await namedIn({ stored: stored(1, 'PARTIAL', first) }), [[first], false]);
    assert.deepEqual(await namedIn({ stored: complete, letters: [letter(1, 'PARTIAL', second)] }), [
      [first, second].sort(),
      false,
    ]);
  });

  it('include those of a dead letter that is requeued meanwhile', async () => {
    const requeued = (world: World) => {
      world.letters = [];
      world.stored = stored(2, 'COMPLETED', second);
    };
    assert.deepEqual(await namedIn({ letters: [letter(2, 'COMPLETED', second)], meanwhile: requeued }), [
      [second],
      true,
    ]);
    const buried = (world: World) => {
      world.letters = [letter(2, 'COMPLETED', second)];
    };
    assert.deepEqual(await namedIn({ stored: stored(1, 'PARTIAL', first), meanwhile: buried }), [
      [first, second].sort(),
      false,
    ]);
  });

  it('are unknown if a dead letter cannot be read, or a later save is not found', async () => {
    const unreadable = letter(2, 'COMPLETED', second).slice(0, -1);
    assert.equal(await namedIn({ stored: stored(1, 'PARTIAL', first), letters: [unreadable] }), undefined);
    assert.equal(await namedIn({ stored: stored(1, 'PARTIAL', first), state: state(2, true) }), undefined);
    assert.equal(await namedIn({}), undefined);
  });

  it('are not those that the response with the same id names in another survey', async () => {
    const ofOther = { ...state(3, false, third), surveyId: newId() };
    assert.deepEqual(await namedIn({ stored: stored(1, 'COMPLETED', first), state: ofOther }), [[first], true]);
  });
});
