import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeTombstone } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
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

  it('each has its own code, and the uploads that it names', async () => {
    const [surveyId, responseId, other] = [newId(), newId(), newId()];
    const [first, second] = [newId(), newId()];
    const [olderMs, youngerMs] = [givenStart, givenStart + 3 * 86_400_000];
    const use = (submittedAtMs: number, code: number, uploadId: string) =>
      responseLine({ surveyId, responseId, submittedAtMs, codes: [code], texts: [`${uploadId} image/png`, 'text'] });
    await database.store([use(olderMs, 2, first), responseLine({ surveyId, responseId: other, codes: [7] })]);
    await database.store([use(youngerMs, 1, second)]);
    const inOrder = <T extends { submittedAtMs: number }>(found: readonly T[]): T[] =>
      found.toSorted((one, next) => one.submittedAtMs - next.submittedAtMs);
    assert.deepEqual(inOrder(await database.responses.codesAt(surveyId, 0, [responseId])), [
      { responseId, submittedAtMs: olderMs, code: 2 },
      { responseId, submittedAtMs: youngerMs, code: 1 },
    ]);
    assert.deepEqual(inOrder(await database.responses.findUses(surveyId, [responseId])), [
      { responseId, submittedAtMs: olderMs, isDeleted: false, uploadIds: [first] },
      { responseId, submittedAtMs: youngerMs, isDeleted: false, uploadIds: [second] },
    ]);
    await database.store([encodeTombstone(surveyId, responseId, olderMs)]);
    assert.deepEqual(
      inOrder(await database.responses.findUses(surveyId, [responseId])).map(({ isDeleted }) => isDeleted),
      [true, false],
    );
  });
});
