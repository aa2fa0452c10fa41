import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createAnnotationTable } from '../../../../src/stores/clickhouse/annotation-table.ts';
import {
  givenStart,
  type ResponseDatabase,
  responseLine,
  useResponseDatabase,
} from '../../../support/response-database.ts';

describe('of responses with one id', () => {
  let database: ResponseDatabase;
  useResponseDatabase((opened) => {
    database = opened;
  });

  const dayMs = 86_400_000;
  const respondents = ['older', 'younger'] as const;
  const timeOf = (respondent: string): number => givenStart + (respondent === 'younger' ? 3 * dayMs : 0);

  /** Two responses under one id, and one under another. */
  const givenTwice = async () => {
    const [surveyId, responseId, otherId] = [newId(), newId(), newId()];
    await database.store([
      ...respondents.map((respondent) =>
        responseLine({ surveyId, responseId, respondent, submittedAtMs: timeOf(respondent) }),
      ),
      responseLine({ surveyId, responseId: otherId, respondent: 'other' }),
    ]);
    const remove = (respondent: string) => database.store([encodeTombstone(surveyId, responseId, timeOf(respondent))]);
    return { surveyId, responseId, otherId, remove };
  };

  /** What an analysis reads. */
  const analysed = async (surveyId: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const { respondent } of database.responses.stream({ surveyId }, { areIdsUnique: true }))
      found.push(respondent);
    return found.sort();
  };

  it('the last one that was not deleted is analysed', async () => {
    const both = await givenTwice();
    assert.deepEqual(await analysed(both.surveyId), ['other', 'younger']);
    for (const [removed, left] of [
      ['older', 'younger'],
      ['younger', 'older'],
    ] as const) {
      const one = await givenTwice();
      await one.remove(removed);
      assert.deepEqual(await analysed(one.surveyId), [left, 'other'].sort());
    }
    for (const respondent of respondents) await both.remove(respondent);
    assert.deepEqual(await analysed(both.surveyId), ['other']);
  });

  it('the annotations stay until all are deleted', async () => {
    const table = createAnnotationTable(database);
    const deleted = async (surveyId: string) => {
      const found: string[] = [];
      for await (const page of table.findDeleted()) if (page.surveyId === surveyId) found.push(...page.responseIds);
      return found;
    };
    for (const removed of respondents) {
      const { surveyId, responseId, otherId, remove } = await givenTwice();
      const [edition, questionId] = [newId(), newId()];
      await table.insert({ surveyId, edition }, [
        [
          { responseId, questionId, values: ['positive'] },
          { responseId: otherId, questionId, values: ['negative'] },
        ],
      ]);
      const counts = async () =>
        (await table.countsOf({ surveyId, edition }, { questionId, replaced: new Map(), limit: 9 })).map(
          ({ value, count }) => [value, count],
        );
      const both = [
        ['negative', 1],
        ['positive', 1],
      ];
      await remove(removed);
      await table.removeDeleted();
      assert.deepEqual([await deleted(surveyId), await counts()], [[], both], removed);
      for (const respondent of respondents) await remove(respondent);
      assert.deepEqual([await deleted(surveyId), await counts()], [[responseId], [['negative', 1]]], removed);
      await table.removeDeleted();
      assert.deepEqual([await deleted(surveyId), await counts()], [[], [['negative', 1]]], removed);
    }
  });

  it('each has its own code, and the uploads that it names', async () => {
    const [surveyId, responseId, once] = [newId(), newId(), newId()];
    const [first, second, replaced] = [newId(), newId(), newId()];
    const of = (respondent: string, code: number, texts: string[], version = 1) =>
      responseLine({
        surveyId,
        responseId,
        version,
        submittedAtMs: timeOf(respondent),
        codes: [code],
        texts: texts.map((id) => `${id} image/png`),
      });
    await database.store([of('older', 1, [first, replaced]), responseLine({ surveyId, responseId: once, codes: [7] })]);
    await database.store([of('older', 1, [first], 2), of('younger', 2, [second])]);
    const byTime = (one: { submittedAtMs: number }, other: { submittedAtMs: number }) =>
      one.submittedAtMs - other.submittedAtMs;
    assert.deepEqual((await database.responses.codesAt(surveyId, 0, [responseId])).sort(byTime), [
      { responseId, submittedAtMs: timeOf('older'), code: 1 },
      { responseId, submittedAtMs: timeOf('younger'), code: 2 },
    ]);
    await database.store([encodeTombstone(surveyId, responseId, timeOf('older'))]);
    const uses = (await database.responses.findUsesOfReused(surveyId, [responseId, once])).sort(byTime);
    assert.deepEqual(
      uses.map((use) => [use.responseId, use.submittedAtMs, use.isDeleted]),
      [
        [responseId, timeOf('older'), true],
        [responseId, timeOf('younger'), false],
      ],
    );
    assert.deepEqual(uses[1]?.uploadIds, [second]);
    assert.ok(uses[0]?.uploadIds.includes(first));
  });
});
