import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CountPlan } from '../../../../src/domain/questions/contract.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { createTotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import { columns, plan, rows } from '../../../support/modelled-responses.ts';
import {
  givenStart,
  type ResponseDatabase,
  responseLine,
  useResponseDatabase,
} from '../../../support/response-database.ts';

let database: ResponseDatabase;

useResponseDatabase((opened) => {
  database = opened;
});

test('counts stay exact while responses are merged and redelivered', async () => {
  const surveyId = newId();
  const given = Array.from({ length: 200 }, (_, index) => ({
    surveyId,
    responseId: newId(),
    submittedAtMs: givenStart + index * 700,
  }));
  await database.store(given.map((response) => responseLine({ ...response, codes: [1, 1] })));
  let isDone = false;
  const change = async () => {
    for (let version = 2; !isDone; version += 1) {
      const some = given.filter((_, index) => index % 7 === version % 7);
      await database.store(
        some.map((response) => responseLine({ ...response, version, codes: [1 + (version % 3), 1] })),
      );
      if (version % 5 === 0)
        await database.store(given.slice(0, 20).map((response) => responseLine({ ...response, codes: [1, 1] })));
    }
  };
  const changing = change();
  const totals = createTotalsStore(database);
  const crosstab = createCrosstabStore(database);
  const seen = [];
  for (let round = 0; round < 12; round += 1) {
    const counted = await totals.countSurvey({ surveyId, plans: [{ questionId: 'q', plan }] });
    const {
      base,
      results: [codes],
    } = counted.perQuestion.get('q') ?? assert.fail();
    const inCodes = codes?.kind === 'codes' ? [...codes.counts.values()].reduce((sum, count) => sum + count, 0) : 0;
    seen.push(
      counted.total,
      base,
      inCodes,
      (await crosstab.countCrosstab({ surveyId, rows, columns })).total,
      (await database.responses.list({ surveyId, limit: 1 })).total,
    );
  }
  isDone = true;
  await changing;
  assert.deepEqual(new Set(seen), new Set([200]));
});

test('thousands of overlapping times and a hundred positions are counted by one statement', async () => {
  const surveyId = newId();
  const slots = Array.from({ length: 130 }, (_, slot) => slot);
  const codes = slots.map((slot) => 1 + (slot % 5));
  const lines = Array.from({ length: 1900 }, (_, index) =>
    responseLine({ surveyId, submittedAtMs: givenStart + index * 3_600_000, codes }),
  );
  for (let delivery = 0; delivery < 2; delivery += 1) await database.store(lines, { codeColumns: slots.length });
  const plans = slots.map((slot) => ({
    questionId: `${slot}`,
    plan: { base: [slot], requests: [{ kind: 'codes', slot }] } satisfies CountPlan,
  }));
  const counted = await createTotalsStore(database).countSurvey({ surveyId, plans });
  assert.equal(counted.total, 1900);
  for (const slot of slots)
    assert.deepEqual(counted.perQuestion.get(`${slot}`), {
      base: 1900,
      partBases: [],
      results: [{ kind: 'codes', counts: new Map([[1 + (slot % 5), 1900]]) }],
    });
});
