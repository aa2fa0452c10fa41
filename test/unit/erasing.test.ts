import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createBuriedLetters } from '../../src/actors/buried-letters.ts';
import { createErasing, type ErasingDeps } from '../../src/actors/erasing.ts';
import { newId, newResponseId } from '../../src/ids.ts';
import { createShards, type Shard } from '../../src/stores/redis/shards.ts';

const dayMs = 24 * 3_600_000;
const nowMs = Date.parse('2026-03-01T10:00:00.000Z');

it('a run of the retention rules reads what could not be stored once, however many surveys have rules, and ends what is too old of each', async () => {
  const shards = createShards(2);
  const surveys = Array.from({ length: 50 }, () => newId());
  const letters = surveys.flatMap((surveyId) => [1, 20].map((days) => {
    const row = [surveyId, newId(), nowMs - days * dayMs, 1, 0, 1, 0, 0, -1, 'en', '', {}, [], []];
    return { shard: shards.of(surveyId), days, responseId: String(row[1]), letter: { id: newId(), reason: 'for this test', rows: Buffer.from(JSON.stringify(row)), isKnown: true } };
  }));
  const [removed, dropped]: [string[], string[]] = [[], []];
  let read = 0;
  const buried = createBuriedLetters({
    stream: {
      deadLetters: async (shard: Shard, { count, after }: { count: number; after?: string | undefined }) => {
        const found = letters.filter((each) => each.shard === shard).map(({ letter }) => letter);
        const page = found.slice(after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1).slice(0, count);
        read += page.length;
        return page;
      },
      dropLetters: async (_, ids) => void dropped.push(...ids),
    },
    shards,
  });
  const deps: Partial<ErasingDeps> = {
    intake: { remove: async ({ responseId }) => removed.push(responseId) > 0 },
    responses: { doomed: async () => [], findAll: async () => [] },
    reading: { settled: async () => undefined as never },
    uploads: { removeOfResponses: async () => undefined as never }, uploadRows: { doubt: async () => undefined as never }, findings: { removeOfResponses: async () => undefined as never },
    audit: { record: async () => undefined as never },
    rules: async () => surveys.map((surveyId) => ({ surveyId, days: 7 })),
    buried, now: () => nowMs,
  };
  assert.equal(await createErasing(deps as ErasingDeps).eraseExpired(), surveys.length);
  const old = letters.filter(({ days }) => days === 20);
  assert.deepEqual(removed.sort(), old.map(({ responseId }) => responseId).sort());
  assert.deepEqual(dropped.sort(), old.map(({ letter }) => letter.id).sort());
  assert.equal(read, letters.length);
});

it('a response that is erased takes its saves along that could not be stored, and no others', async () => {
  const shards = createShards(1);
  const [surveyId, responseId, other] = [newId(), newResponseId(), newResponseId()];
  const letters = [responseId, other].map((id, index) => ({ id: `${index}-1`, reason: 'for this test', isKnown: true, rows: Buffer.from(JSON.stringify([surveyId, id, nowMs, 2, 0, 1, 0, 0, -1, 'en', '', {}, [], ['private']])) }));
  const did: string[] = [];
  const buried = createBuriedLetters({
    stream: { deadLetters: async (_shard, { after }) => (after === undefined ? letters : []), dropLetters: async (_shard, ids) => void did.push(`dropped ${ids.join()}`) }, shards,
  });
  const nothing = async () => undefined as never;
  const deps: Partial<ErasingDeps> = {
    intake: { remove: async () => did.push('removed') > 0 }, responses: { doomed: async () => [], findAll: async () => [] }, exports: { withdraw: async () => [], shorten: nothing },
    uploads: { removeOfResponses: nothing }, uploadRows: { doubt: nothing }, findings: { removeOfResponses: nothing }, buried, now: () => nowMs,
  };
  assert.equal(await createErasing(deps as ErasingDeps).eraseOne({ surveyId, responseId, submittedAtMs: nowMs, isComplete: false }), true);
  assert.deepEqual(did, ['removed', 'dropped 0-1']);
});
