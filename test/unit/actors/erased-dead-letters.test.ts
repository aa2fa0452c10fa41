import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDeadLetters } from '../../../src/actors/dead-letters.ts';
import { createResponseErasure, type ResponseErasureDeps } from '../../../src/actors/erasure/erasure.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import { unavailable } from '../../../src/errors.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import type { ResponseMarkedForDeletion } from '../../../src/stores/clickhouse/write/erasure.ts';
import { createShards } from '../../../src/stores/redis/intake/shards.ts';
import { deadLettersOf, fakeDeadLetters } from '../../support/dead-letters.ts';
import { emptyStoresAt, nothing } from '../../support/erasure-stores.ts';

const nowMs = Date.parse('2026-03-01T10:00:00.000Z');
const emptyStores = emptyStoresAt(nowMs);

describe('the erasure of a response with dead letters', () => {
  const [surveyId, responseId] = [newId(), newResponseId()];
  const stored = { surveyId, responseId, submittedAtMs: nowMs, outcome: 'PARTIAL' as const };
  const save = (version: number, isComplete: boolean) =>
    JSON.stringify([
      surveyId,
      responseId,
      nowMs,
      version,
      0,
      1,
      isComplete ? 1 : 0,
      0,
      -1,
      'en',
      'me',
      {},
      [],
      ['private'],
    ]);

  /** `world.fails`: what goes wrong, once. */
  function setUp({ lines, rows = [] }: { lines: readonly string[]; rows?: readonly ResponseMarkedForDeletion[] }) {
    const world = {
      letters: deadLettersOf(lines),
      rows: [...rows],
      removals: [] as Outcome[],
      doubted: [] as string[],
      traces: 0,
      fails: '',
    };
    const once = (what: string) => {
      if (world.fails !== what) return;
      world.fails = '';
      throw unavailable('For this test', 2);
    };
    const deadLetters = createDeadLetters({
      stream: {
        findDeadLetters: fakeDeadLetters(() => world.letters),
        removeDeadLetters: async (_shard, ids) => {
          once('drop');
          world.letters = world.letters.filter(({ id }) => !ids.includes(id));
        },
      },
      shards: createShards(1),
    });
    const deps: Partial<ResponseErasureDeps> = {
      ...emptyStores,
      intake: {
        deleteResponse: async ({ outcome }) => {
          world.rows = [];
          return world.removals.push(outcome) > 0;
        },
      },
      responses: {
        ...emptyStores.responses,
        findMarkedForDeletion: async () => world.rows,
        wasDeleted: async () => world.removals.length > 0,
      },
      exports: {
        invalidate: async () => {
          if (world.removals.length > 0) once('conceal');
          return [];
        },
        limitExpiry: nothing,
      },
      reading: {
        caughtUp: async () => {
          if (world.removals.length > 0) once('catch up');
          return undefined as never;
        },
      },
      uploads: {
        removeOfResponse: async () => {
          world.traces += 1;
          return world.traces;
        },
      },
      uploadRows: {
        markUnverified: async (_survey, ids) => {
          world.doubted.push(...ids);
          return [];
        },
      },
      deadLetters,
    };
    return { world, ...createResponseErasure(deps as ResponseErasureDeps) };
  }

  it('succeeds when it is repeated after any failure', async () => {
    for (const fails of ['conceal', 'drop']) {
      const { world, eraseOne } = setUp({ lines: [save(2, false)] });
      world.fails = fails;
      await assert.rejects(eraseOne({ surveyId, responseId }, null, stored), { code: 'SERVICE_UNAVAILABLE' });
      assert.equal(await eraseOne({ surveyId, responseId }, null), fails === 'drop');
      assert.deepEqual([world.letters, world.removals], [[], ['PARTIAL']], fails);
    }
  });

  it('succeeds although the tombstone cannot be stored yet', async () => {
    const { world, eraseOne } = setUp({ lines: [] });
    world.fails = 'catch up';
    assert.equal(await eraseOne({ surveyId, responseId }, null, stored), true);
    assert.deepEqual([world.removals, world.fails], [['PARTIAL'], '']);
  });

  it('succeeds although no save of the response was stored', async () => {
    const { world, eraseOne } = setUp({ lines: [save(1, false), save(2, true)] });
    assert.equal(await eraseOne({ surveyId, responseId }, null), true);
    assert.deepEqual([world.letters, world.removals], [[], ['COMPLETED']]);
    assert.equal(await eraseOne({ surveyId, responseId }, null), false);
    const unread = setUp({ lines: [`["${surveyId}","${responseId}","not a time",1]`] });
    assert.equal(await unread.eraseOne({ surveyId, responseId }, null), true);
    assert.deepEqual([unread.world.letters, unread.world.removals, unread.world.traces], [[], [], 1]);
  });

  it('frees the seat of a completion that is a dead letter', async () => {
    const one = setUp({ lines: [save(2, true)] });
    assert.equal(await one.eraseOne({ surveyId, responseId }, null, stored), true);
    const respondent = setUp({ lines: [save(2, true)], rows: [stored] });
    await respondent.eraseRespondent(surveyId, 'me', null);
    const both = setUp({ lines: [save(1, false), save(2, true)] });
    await both.eraseRespondent(surveyId, 'me', null);
    assert.deepEqual(
      [one, respondent, both].map(({ world }) => [world.letters.length, world.removals]),
      [
        [0, ['COMPLETED']],
        [0, ['COMPLETED']],
        [0, ['COMPLETED']],
      ],
    );
  });

  it('marks uploads as unverified if the dead letter cannot be read', async () => {
    const { world, eraseRespondent } = setUp({ lines: [`["${surveyId}","${responseId}","not a time",1,"me"]`] });
    await eraseRespondent(surveyId, 'me', null);
    assert.deepEqual([world.letters, world.doubted], [[], [responseId]]);
  });
});
