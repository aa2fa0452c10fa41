import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createDeadLetters } from '../../../src/actors/dead-letters.ts';
import { createErasureBatches } from '../../../src/actors/erasure/batches.ts';
import { createResponseErasure, type ResponseErasureDeps } from '../../../src/actors/erasure/erasure.ts';
import { createExpiry } from '../../../src/actors/erasure/expiry.ts';
import { unavailable } from '../../../src/errors.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import type { ResponseMarkedForDeletion } from '../../../src/stores/clickhouse/write/erasure.ts';
import { createShards } from '../../../src/stores/redis/intake/shards.ts';
import { deadLettersOf, fakeDeadLetters } from '../../support/dead-letters.ts';
import { emptyStoresAt, nothing } from '../../support/erasure-stores.ts';

const dayMs = 24 * 3_600_000;
const nowMs = Date.parse('2026-03-01T10:00:00.000Z');
const emptyStores = emptyStoresAt(nowMs);

it('the retention rules read the dead letters once, and erase the expired ones of every survey', async () => {
  const shards = createShards(2);
  const surveys = Array.from({ length: 50 }, () => newId());
  const letters = surveys.flatMap((surveyId) =>
    [1, 20].map((days) => {
      const row = [surveyId, newId(), nowMs - days * dayMs, 1, 0, 1, 0, 0, -1, 'en', '', {}, [], []];
      return {
        shard: shards.of(surveyId),
        days,
        responseId: String(row[1]),
        letter: { id: newId(), reason: 'for this test', rows: Buffer.from(JSON.stringify(row)), isKnown: true },
      };
    }),
  );
  const [removed, dropped]: [string[], string[]] = [[], []];
  let read = 0;
  const deadLetters = createDeadLetters({
    stream: {
      findDeadLetters: fakeDeadLetters((shard) => {
        const found = letters.filter((each) => each.shard === shard).map(({ letter }) => letter);
        read += found.length;
        return found;
      }),
      removeDeadLetters: async (_, ids) => void dropped.push(...ids),
    },
    shards,
  });
  const deps: Partial<ResponseErasureDeps> = {
    ...emptyStores,
    intake: { deleteResponse: async ({ responseId }) => removed.push(responseId) > 0 },
    rules: async () => surveys.map((surveyId) => ({ surveyId, days: 7 })),
    deadLetters,
  };
  assert.equal(await createResponseErasure(deps as ResponseErasureDeps).eraseExpired(), surveys.length);
  const old = letters.filter(({ days }) => days === 20);
  assert.deepEqual(removed.sort(), old.map(({ responseId }) => responseId).sort());
  assert.deepEqual(dropped.sort(), old.map(({ letter }) => letter.id).sort());
  assert.equal(read, letters.length);
});

it('a survey whose expired responses cannot be erased delays no other, and a stop ends the rules', async () => {
  const surveys = Array.from({ length: 3 }, () => newId());
  const [failing, ...others] = surveys;
  const open = new Set(surveys);
  const warnings: object[] = [];
  const stored = (surveyId: string) => ({ surveyId, responseId: newId(), submittedAtMs: 0, outcome: 'COMPLETE' });
  const deps: Partial<ResponseErasureDeps> = {
    ...emptyStores,
    intake: { deleteResponse: async ({ surveyId }) => open.delete(surveyId) },
    responses: {
      ...emptyStores.responses,
      findMarkedForDeletion: async (surveyId) => {
        if (surveyId === failing) throw new Error('for this test');
        return open.has(surveyId) ? [stored(surveyId) as ResponseMarkedForDeletion] : [];
      },
    },
    rules: async () => surveys.map((surveyId) => ({ surveyId, days: 7 })),
    deadLetters: createDeadLetters({
      stream: { findDeadLetters: fakeDeadLetters(() => []), removeDeadLetters: nothing },
      shards: createShards(1),
    }),
    log: { warn: ((fields: object) => void warnings.push(fields)) as never },
  };
  const { eraseExpired } = createResponseErasure(deps as ResponseErasureDeps);
  assert.equal(await eraseExpired(AbortSignal.abort()), 0);
  assert.equal(open.size, 3);
  assert.equal(await eraseExpired(), others.length);
  assert.deepEqual([...open], [failing]);
  assert.equal(warnings.length, 1);
});

it('expired responses of a survey wait for a turn of the others, and for the next run after nine minutes', async () => {
  const ids = ['a', 'b', 'c'].map((first) => `${first}${newId().slice(1)}`);
  const left = new Map(ids.map((id, index) => [id, index === 1 ? 1 : 45_000]));
  const turns: string[] = [];
  const records: unknown[] = [];
  let nowMs = 0;
  const run = createExpiry({
    erase: createErasureBatches({
      ...emptyStores,
      responses: {
        findMarkedForDeletion: async (surveyId, _selection, limit) => {
          const found = Math.min(limit, left.get(surveyId) ?? 0);
          const one = { surveyId, submittedAtMs: 0, outcome: 'COMPLETED' as const };
          return Array.from({ length: found }, (_, index) => ({ ...one, responseId: `${index}` }));
        },
      },
      removal: {
        removeAll: async (all) => {
          const surveyId = all[0]?.surveyId ?? '';
          left.set(surveyId, (left.get(surveyId) ?? 0) - all.length);
          if (turns.at(-1) !== surveyId) turns.push(surveyId);
          nowMs += 5000;
          return all.length;
        },
        eraseDeadLetters: async () => 0,
      },
    }),
    deadLetters: { filter: async () => [] },
    exports: { limitExpiry: nothing },
    audit: { record: async ({ objectId, details }) => void records.push([objectId?.[0], details?.['erased']]) },
    rules: async () => ids.map((surveyId) => ({ surveyId, days: 1 })),
    log: { warn: nothing as never },
    now: () => 0,
    monotonicMs: () => nowMs,
  });
  const takeTurns = async () => {
    await run();
    return turns.splice(0).map((id) => id[0]);
  };
  assert.deepEqual(await takeTurns(), ['a', 'b', 'c', 'a']);
  const expected = { a: [500, 39_500], b: [1], c: [500, 19_500] };
  for (const [first, counts] of Object.entries(expected))
    assert.deepEqual(
      records.filter((record) => (record as unknown[])[0] === first).map((record) => (record as unknown[])[1]),
      counts,
    );
  assert.deepEqual(await takeTurns(), ['c', 'a', 'c']);
});

it('expired responses are recorded before the first is erased, and those beyond the first batch at the end', async () => {
  const [surveyId, stored, did] = [newId(), 600, [] as string[]];
  let rows: ResponseMarkedForDeletion[] = [];
  let isFailing = true;
  const deps: Partial<ResponseErasureDeps> = {
    ...emptyStores,
    intake: {
      deleteResponse: async ({ responseId }) => {
        rows = rows.filter((row) => row.responseId !== responseId);
        if (did.at(-1) !== 'erased') did.push('erased');
        if (isFailing) throw unavailable('For this test', 2);
        return true;
      },
    },
    responses: {
      ...emptyStores.responses,
      findMarkedForDeletion: async (_surveyId, _selection, limit) => rows.slice(0, limit),
    },
    audit: { record: async ({ action, details }) => void did.push(`${action} ${details?.['erased']}`) },
    rules: async () => [{ surveyId, days: 7 }],
    deadLetters: createDeadLetters({
      stream: { findDeadLetters: fakeDeadLetters(() => []), removeDeadLetters: nothing },
      shards: createShards(1),
    }),
    log: { warn: nothing as never },
  };
  const { eraseExpired } = createResponseErasure(deps as ResponseErasureDeps);
  assert.equal(await eraseExpired(), 0);
  assert.deepEqual(did.splice(0), [], 'nothing to erase');
  rows = Array.from({ length: stored }, () => ({
    surveyId,
    responseId: newId(),
    submittedAtMs: 0,
    outcome: 'COMPLETED',
  }));
  await eraseExpired();
  assert.deepEqual(did.splice(0), ['responses.expired 500', 'erased']);
  isFailing = false;
  const left = rows.length;
  assert.equal(await eraseExpired(), left);
  assert.deepEqual(did, ['responses.expired 500', 'erased', `responses.expired ${left - 500}`]);
});

it('an audit record that fails after the erasure is a warning, and delays no other survey', async () => {
  const [failing, other] = [newId(), newId()];
  const left = new Map([
    [failing, Array.from({ length: 501 }, () => newId())],
    [other, [newId(), newId()]],
  ]);
  const recorded: unknown[] = [];
  const warnings: unknown[] = [];
  const deps: Partial<ResponseErasureDeps> = {
    ...emptyStores,
    intake: {
      deleteResponse: async ({ surveyId, responseId }) => {
        left.set(surveyId, left.get(surveyId)?.filter((id) => id !== responseId) ?? []);
        return true;
      },
    },
    responses: {
      ...emptyStores.responses,
      findMarkedForDeletion: async (surveyId, _selection, limit) =>
        (left.get(surveyId) ?? [])
          .slice(0, limit)
          .map((responseId) => ({ surveyId, responseId, submittedAtMs: 0, outcome: 'COMPLETED' })),
    },
    audit: {
      record: async ({ objectId, details }) => {
        recorded.push([objectId, details?.['erased']]);
        if (details?.['erased'] === 1) throw unavailable('For this test', 2);
      },
    },
    rules: async () => [failing, other].map((surveyId) => ({ surveyId, days: 7 })),
    deadLetters: createDeadLetters({
      stream: { findDeadLetters: fakeDeadLetters(() => []), removeDeadLetters: nothing },
      shards: createShards(1),
    }),
    log: {
      warn: (({ surveyId, unrecorded }: { surveyId: string; unrecorded: number }) =>
        void warnings.push([surveyId, unrecorded])) as never,
    },
  };
  assert.equal(await createResponseErasure(deps as ResponseErasureDeps).eraseExpired(), 503);
  assert.deepEqual(recorded, [
    [failing, 500],
    [failing, 1],
    [other, 2],
  ]);
  assert.deepEqual(warnings, [[failing, 1]]);
});

it('the erasure of a respondent names the responses before they are erased, at most 500 an event', async () => {
  const surveyId = newId();
  const ids = Array.from({ length: 1200 }, () => newId());
  const [ofBoth, ofLetterAlone] = [ids[700], newResponseId()];
  let left = ids;
  let named: string[] = [];
  const sizes: number[] = [];
  const deps: Partial<ResponseErasureDeps> = {
    ...emptyStores,
    intake: {
      deleteResponse: async ({ responseId }) => {
        assert.ok(named.includes(responseId));
        left = left.filter((id) => id !== responseId);
        return true;
      },
    },
    responses: {
      ...emptyStores.responses,
      findMarkedForDeletion: async (_surveyId, _selection, limit) =>
        left.slice(0, limit).map((responseId) => ({ surveyId, responseId, submittedAtMs: 0, outcome: 'COMPLETED' })),
    },
    audit: {
      record: async ({ details }) => {
        const responseIds = details?.['responseIds'] as string[];
        assert.equal(details?.['deleted'], responseIds.length);
        sizes.push(responseIds.length);
        named = [...named, ...responseIds];
      },
    },
    deadLetters: createDeadLetters({
      stream: {
        findDeadLetters: fakeDeadLetters(() =>
          [ofBoth, ofLetterAlone].map((id, index) => ({
            id: `${index}-1`,
            reason: 'for this test',
            isKnown: true,
            rows: Buffer.from(JSON.stringify([surveyId, id, 0, 1, 0, 1, 0, 0, -1, 'en', 'me', {}, [], []])),
          })),
        ),
        removeDeadLetters: nothing,
      },
      shards: createShards(1),
    }),
  };
  const invited: string[] = [];
  deps.invitations = {
    responsesOfReference: async () => [],
    eraseOfReference: nothing,
    eraseOfResponses: async (_surveyId, responseIds) => void invited.push(...responseIds),
  };
  const { removed } = await createResponseErasure(deps as ResponseErasureDeps).eraseRespondent(surveyId, 'me', null);
  assert.deepEqual(sizes, [500, 500, 200, 1]);
  assert.deepEqual(new Set(invited), new Set([...ids, ofLetterAlone]), 'their invitations too');
  assert.deepEqual(named.toSorted(), [...ids, ofLetterAlone].sort());
  assert.ok(removed >= 1201);
});

it('the erasure of a respondent includes invited responses, and blanks their reference when all are erased', async () => {
  const [surveyId, stored, waiting, other] = [newId(), newResponseId(), newResponseId(), newResponseId()];
  const did: string[] = [];
  let left = [stored];
  let letters = deadLettersOf(
    [waiting, other].map((id) => JSON.stringify([surveyId, id, 0, 1, 0, 1, 0, 0, -1, 'en', '', {}, [], []])),
  );
  let reference: string | null = 'anna';
  let isFailing = true;
  const deps: Partial<ResponseErasureDeps> = {
    ...emptyStores,
    intake: {
      deleteResponse: async ({ responseId }) => {
        if (isFailing) throw unavailable('For this test', 2);
        left = left.filter((id) => id !== responseId);
        return did.push(responseId) > 0;
      },
    },
    responses: {
      ...emptyStores.responses,
      findMarkedForDeletion: async (_surveyId, criterion) =>
        left
          .filter((id) => 'responseIds' in criterion && criterion.responseIds.includes(id))
          .map((responseId) => ({ surveyId, responseId, submittedAtMs: 0, outcome: 'COMPLETED' })),
    },
    audit: { record: async ({ details }) => void did.push(`audit ${details?.['responseIds']}`) },
    deadLetters: createDeadLetters({
      stream: {
        findDeadLetters: fakeDeadLetters(() => letters),
        removeDeadLetters: async (_shard, ids) => {
          letters = letters.filter(({ id }) => !ids.includes(id));
        },
      },
      shards: createShards(1),
    }),
    invitations: {
      responsesOfReference: async (_surveyId, asked) => (asked === reference ? [stored, waiting] : []),
      eraseOfReference: async () => {
        reference = null;
        did.push('blank');
      },
      eraseOfResponses: async (_surveyId, responseIds) => {
        if (responseIds.length > 0) reference = null;
      },
    },
  };
  const { eraseRespondent } = createResponseErasure(deps as ResponseErasureDeps);
  await assert.rejects(eraseRespondent(surveyId, 'anna', null), { code: 'SERVICE_UNAVAILABLE' });
  assert.deepEqual(did.splice(0), [`audit ${stored}`], 'nothing is erased or blanked yet');
  isFailing = false;
  assert.deepEqual(await eraseRespondent(surveyId, 'anna', null), { removed: 2, isFinished: true });
  assert.deepEqual(did, [`audit ${stored}`, stored, `audit ${waiting}`, waiting, 'blank']);
  assert.equal(letters.length, 1, 'the dead letter of another response stays');
});

it('the erasure of a response removes its own dead letters and no others', async () => {
  const shards = createShards(1);
  const [surveyId, responseId, other] = [newId(), newResponseId(), newResponseId()];
  const letters = [responseId, other].map((id, index) => ({
    id: `${index}-1`,
    reason: 'for this test',
    isKnown: true,
    rows: Buffer.from(JSON.stringify([surveyId, id, nowMs, 2, 0, 1, 0, 0, -1, 'en', '', {}, [], ['private']])),
  }));
  const did: string[] = [];
  const deadLetters = createDeadLetters({
    stream: {
      findDeadLetters: fakeDeadLetters(() => letters),
      removeDeadLetters: async (_shard, ids) => void did.push(`dropped ${ids.join()}`),
    },
    shards,
  });
  const deps: Partial<ResponseErasureDeps> = {
    ...emptyStores,
    intake: { deleteResponse: async () => did.push('removed') > 0 },
    deadLetters,
  };
  assert.equal(
    await createResponseErasure(deps as ResponseErasureDeps).eraseOne({ surveyId, responseId }, null, {
      surveyId,
      responseId,
      submittedAtMs: nowMs,
      outcome: 'PARTIAL',
    }),
    true,
  );
  assert.deepEqual(did, ['removed', 'dropped 0-1,0-1']);
});
