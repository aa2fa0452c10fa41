import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConsistentReads } from '../../../src/actors/consistent-reads.ts';
import { createDeadLetters } from '../../../src/actors/dead-letters.ts';
import { createErasureBatches } from '../../../src/actors/erasure/batches.ts';
import { createExpiry } from '../../../src/actors/erasure/expiry.ts';
import { createRestore, type EvictedResponse } from '../../../src/actors/submissions/saved-response.ts';
import type { Question } from '../../../src/domain/survey.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import type { ResponseRecord } from '../../../src/stores/clickhouse/read/record.ts';
import { createShards } from '../../../src/stores/redis/intake/shards.ts';
import { createUploads, type UploadsDeps } from '../../../src/stores/uploads/uploads.ts';
import { deadLettersOf, fakeDeadLetters } from '../../support/dead-letters.ts';
import { type GivenResponse, responseLine } from '../../support/response-database.ts';

const at = Date.parse('2026-03-01T10:00:00.000Z');
const [surveyId, responseId] = [newId(), newResponseId()];
const given: GivenResponse = { surveyId, responseId, submittedAtMs: at, outcome: 'PARTIAL', completedAtMs: 0 };
const record = (version: number, more: Partial<ResponseRecord> = {}): ResponseRecord => ({
  surveyId,
  responseId,
  submittedAt: new Date(at),
  version,
  surveyVersion: 1,
  outcome: 'PARTIAL',
  completedAt: null,
  durationMs: null,
  language: 'en',
  respondent: '',
  metadata: {},
  row: { codes: [0, 0, 0], numbers: [], texts: ['stored'] },
  ...more,
});

/** The response store and the dead letters, and how both change while a caller waits until ingest has caught up. */
function setUp(start: {
  stored?: ResponseRecord;
  deleted?: number;
  letters?: readonly string[];
  meanwhile?(world: { stored: ResponseRecord | undefined; letters: readonly string[] }): void;
}) {
  const world = { stored: start.stored, letters: start.letters ?? [] };
  const shards = createShards(1);
  const deadLetters = createDeadLetters({
    stream: {
      findDeadLetters: fakeDeadLetters(() => deadLettersOf(world.letters)),
      removeDeadLetters: async () => undefined,
    },
    shards,
  });
  const responses = {
    findNewest: async () => world.stored,
    wasDeleted: async (_id: string, moment?: number) =>
      start.deleted !== undefined && (moment === undefined || moment === start.deleted),
    findAll: async () => (world.stored ? [world.stored] : []),
    hasAnswersAt: async () => (world.stored?.row.codes ?? []).some((code) => code !== 0),
  };
  const settled = async () => {
    start.meanwhile?.(world);
    return '5-0';
  };
  const recall = createRestore({ responses, deadLetters, reading: { caughtUp: async () => void (await settled()) } });
  const reading = createConsistentReads({
    responses,
    deadLetters,
    shards,
    stream: { newestId: async () => '5-0', acknowledged: settled, isDeleted: async () => false },
  });
  const asked = (known: EvictedResponse['known']) => recall({ surveyId, responseId, known, codePositions: 3 });
  return {
    asked,
    hasAnswers: (slot: number) =>
      reading.hasAnswers({ surveyId, slots: { codes: { '': slot } } } as unknown as Question),
    trace: () => reading.trace(responseId),
    isThere: () => reading.isAccepted(surveyId, responseId),
  };
}

describe('a response whose last save is a dead letter', () => {
  const letter = responseLine({
    ...given,
    version: 2,
    codes: [0, 3],
    texts: ['buried'],
    respondent: 'me',
    durationMs: 9000,
  });
  const saved = {
    submittedAtMs: at,
    startedAtMs: at - 9000,
    language: 'en',
    respondent: 'me',
    metadata: {},
    row: { codes: [0, 3, 0], numbers: [], texts: ['buried'] },
    surveyVersion: 1,
  };

  it('is continued from the dead letter', async () => {
    for (const known of [
      { observedVersion: 2, submittedAtMs: at },
      { observedVersion: 2, submittedAtMs: undefined },
      undefined,
    ])
      assert.deepEqual(await setUp({ stored: record(1), letters: [letter] }).asked(known), {
        observedVersion: 2,
        isComplete: false,
        saved,
      });
    assert.deepEqual(
      await setUp({ letters: [letter] }).asked(undefined),
      { observedVersion: 2, isComplete: false, saved },
      'nothing of it is stored',
    );
  });

  it('is continued from the stored row if that is newer', async () => {
    assert.deepEqual(
      (await setUp({ stored: record(3), letters: [letter] }).asked({ observedVersion: 3, submittedAtMs: at }))?.saved
        .row.texts,
      ['stored'],
    );
    assert.equal((await setUp({ stored: record(3), letters: [letter] }).asked(undefined))?.observedVersion, 3);
  });

  it('is complete if the dead letter completed it', async () => {
    assert.equal(
      (
        await setUp({
          stored: record(1),
          letters: [responseLine({ ...given, version: 2, outcome: 'COMPLETED' })],
        }).asked(undefined)
      )?.isComplete,
      true,
    );
  });

  it('is found while it is requeued', async () => {
    const wayBack = {
      letters: [letter],
      meanwhile: (world: { stored: unknown; letters: readonly string[] }) =>
        void Object.assign(world, {
          stored: record(2, { row: { codes: [0, 3, 0], numbers: [], texts: ['buried'] } }),
          letters: [],
        }),
    };
    assert.deepEqual((await setUp(wayBack).asked({ observedVersion: 2, submittedAtMs: at }))?.saved.row.texts, [
      'buried',
    ]);
    const wayThere = {
      meanwhile: (world: { letters: readonly string[] }) => {
        world.letters = [letter];
      },
    };
    assert.deepEqual((await setUp(wayThere).asked({ observedVersion: 2, submittedAtMs: at }))?.saved.row.texts, [
      'buried',
    ]);
  });

  it('is not found after it was deleted', async () => {
    assert.equal(await setUp({ letters: [letter], deleted: at }).asked(undefined), undefined);
    assert.equal(
      (await setUp({ letters: [letter], deleted: at - 1 }).asked(undefined))?.observedVersion,
      2,
      'that was another response under its id',
    );
  });

  it('is refused for now if this version cannot read it', async () => {
    for (const line of [
      `["${surveyId}","${responseId}","not a time",2]`,
      responseLine({ ...given, version: 2 }).replace('[],[]', '[],7'),
    ])
      for (const known of [{ observedVersion: 2, submittedAtMs: at }, undefined])
        await assert.rejects(
          setUp({ stored: record(1), letters: [line] }).asked(known),
          { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 300 },
          line,
        );
    assert.equal(
      (await setUp({ stored: record(1), letters: [`["${surveyId}","${newId()}","not a time",2]`] }).asked(undefined))
        ?.observedVersion,
      1,
      'that of another response says nothing',
    );
  });

  it('keeps its id from being used again', async () => {
    assert.equal(await setUp({}).trace(), undefined);
    const found = await setUp({ letters: [letter] }).trace();
    assert.deepEqual(typeof found === 'object' && [found.surveyId, found.isComplete], [surveyId, false]);
    const completed = await setUp({
      letters: [letter, responseLine({ ...given, version: 3, outcome: 'COMPLETED' })],
    }).trace();
    assert.equal(typeof completed === 'object' && completed.isComplete, true);
    assert.equal(await setUp({ deleted: at }).trace(), 'deleted');
  });

  it('keeps its id while it is requeued', async () => {
    let looks = 0;
    const wayBack = (world: { stored: ResponseRecord | undefined; letters: readonly string[] }) => {
      looks += 1;
      // The first search does not wait; the dead letter is requeued right after it.
      if (looks > 1) Object.assign(world, { stored: record(2) });
    };
    assert.equal(typeof (await setUp({ meanwhile: wayBack }).trace()), 'object');
  });
});

describe('uploads of a response that is a dead letter', () => {
  const file = { id: newId() };
  /** Runs the task that removes uploads without a response, a day later. */
  const sweep = async (isThere: () => Promise<boolean>): Promise<string> => {
    const did: string[] = [];
    const rows = {
      findUnverifiedResponses: async () => [{ surveyId, responseId }],
      settleClaims: async () => void did.push('kept'),
      markOfResponse: async () => {
        did.push('removed');
        return [file.id];
      },
      findUnfinished: async () => [],
      findUnclaimed: async () => [],
      markUnclaimed: async () => [],
      remove: async () => undefined,
      findExisting: async () => [],
    } as unknown as UploadsDeps['rows'];
    const storage = { remove: async () => undefined, async *list() {} } as unknown as UploadsDeps['storage'];
    await createUploads({
      rows,
      storage,
      budget: { reserve: () => assert.fail() },
      unclaimedTtlMs: 3_600_000,
      now: () => at,
      isResponseStored: isThere,
      findNamed: async () => undefined,
      findNaming: async () => [],
      log: { info: () => undefined, warn: () => undefined },
    }).sweep();
    return did.join();
  };
  const letter = responseLine(given);

  it('stay as long as it may be requeued, and while it is', async () => {
    assert.equal(await sweep(setUp({ letters: [letter] }).isThere), 'kept');
    assert.equal(
      await sweep(
        setUp({
          meanwhile: (world) => {
            world.letters = [letter];
          },
        }).isThere,
      ),
      'kept',
    );
    assert.equal(await sweep(setUp({ stored: record(1) }).isThere), 'kept');
    assert.equal(await sweep(setUp({}).isThere), 'removed');
  });
});

describe('a question that only dead letters answer', () => {
  const letter = responseLine({ ...given, codes: [0, 3] });

  it('has answers', async () => {
    assert.deepEqual(
      [
        await setUp({ letters: [letter] }).hasAnswers(1),
        await setUp({ letters: [letter] }).hasAnswers(0),
        await setUp({}).hasAnswers(1),
      ],
      [true, false, false],
    );
  });

  it('has answers while they are requeued', async () => {
    const wayBack = setUp({
      letters: [letter],
      meanwhile: (world) => void Object.assign(world, { letters: [], stored: undefined }),
    });
    assert.equal(await wayBack.hasAnswers(1), true);
    const wayThere = setUp({
      meanwhile: (world) => {
        world.letters = [letter];
      },
    });
    assert.equal(await wayThere.hasAnswers(1), true);
  });

  it('may have answers if a dead letter cannot be read', async () => {
    assert.equal(await setUp({ letters: [`["${surveyId}","${newId()}","not a time",2]`] }).hasAnswers(0), true);
    assert.equal(await setUp({ letters: [`["${newId()}","${newId()}","not a time",2]`] }).hasAnswers(0), false);
  });
});

describe('a dead letter that cannot be read', () => {
  it('is erased by a retention rule once the response store has rejected it so long ago', async () => {
    const shards = createShards(1);
    const responseIds = [newResponseId(), newResponseId()];
    const letters = responseIds.map((id, index) => ({
      id: `${at + index * 1000}-1`,
      reason: 'for this test',
      rows: Buffer.from(`["${surveyId}","${id}","not a time",2]`),
      isKnown: true,
    }));
    const recorded: unknown[] = [];
    const dropped: string[] = [];
    const deadLetters = createDeadLetters({
      stream: {
        findDeadLetters: fakeDeadLetters(() => letters),
        removeDeadLetters: async (_shard, ids) => void dropped.push(...ids),
      },
      shards,
    });
    const expire = createExpiry({
      erase: createErasureBatches({
        responses: { findMarkedForDeletion: async () => [] },
        reading: { caughtUp: async () => undefined },
        removal: {
          removeAll: () => assert.fail('nothing is known of its response'),
          eraseDeadLetters: async (id, marked) => {
            await deadLetters.remove(id, marked);
            return 0;
          },
        },
      }),
      deadLetters,
      exports: { limitExpiry: async () => undefined },
      audit: { record: async ({ action, details }) => void recorded.push([action, details?.['erased']]) },
      rules: async () => [{ surveyId, days: 1 }],
      log: { warn: (facts: unknown) => assert.fail(JSON.stringify(facts)) },
      now: () => at + 24 * 3_600_000 + 500,
    });
    await expire();
    assert.deepEqual([dropped, recorded], [[letters[0]?.id], [['responses.expired', 1]]]);
  });
});
