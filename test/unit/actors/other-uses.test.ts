import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDeadLetters } from '../../../src/actors/dead-letters.ts';
import { createFindOtherUses } from '../../../src/actors/erasure/other-uses.ts';
import { encodeResponse, encodeTombstone } from '../../../src/domain/response-row.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import type { UseOfId } from '../../../src/stores/clickhouse/responses.ts';
import { createShards } from '../../../src/stores/redis/intake/shards.ts';
import { deadLettersOf, fakeDeadLetters } from '../../support/dead-letters.ts';

describe('the responses that keep the id of a deleted one', () => {
  const [surveyId, responseId] = [newId(), newId()];
  const [one, two, three] = [newId(), newId(), newId()];
  const use = (submittedAtMs: number, uploadIds: string[], isDeleted = false): UseOfId => ({
    responseId,
    submittedAtMs,
    uploadIds,
    isDeleted,
  });
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

  /** What stays when the responses of these times are deleted. */
  const keptOf = async (
    times: readonly number[],
    {
      stored = [],
      letters = [],
      haveUploads = true,
    }: { stored?: UseOfId[]; letters?: string[]; haveUploads?: boolean },
  ) => {
    const find = createFindOtherUses({
      responses: { findUsesOfReused: async () => stored },
      deadLetters: createDeadLetters({
        stream: {
          findDeadLetters: fakeDeadLetters(() => deadLettersOf(letters)),
          removeDeadLetters: () => assert.fail('nothing is removed here'),
        },
        shards: createShards(1),
      }),
    });
    const marked = times.map(
      (submittedAtMs) => ({ surveyId, responseId, submittedAtMs, outcome: 'COMPLETED' }) as const,
    );
    return (await find(surveyId, marked, { haveUploads })).get(responseId);
  };

  it('are those that are not deleted, now or before', async () => {
    const stored = [use(1, [one]), use(2, [two], true), use(3, [three])];
    assert.equal(await keptOf([1, 3], { stored }), undefined);
    assert.equal(await keptOf([1], {}), undefined);
    assert.deepEqual(await keptOf([1], { stored }), { ownUploads: [one, two], isLastKept: true });
    assert.deepEqual(await keptOf([3], { stored }), { ownUploads: [two, three], isLastKept: false });
  });

  it('keep what they name although a deleted one names it too', async () => {
    const stored = [use(1, [one, two]), use(2, [two, three])];
    assert.deepEqual((await keptOf([1], { stored }))?.ownUploads, [one]);
    assert.deepEqual((await keptOf([2], { stored }))?.ownUploads, [three]);
  });

  it('may be dead letters, unless these are of deleted ones', async () => {
    const letters = [saved(2, two), encodeTombstone(surveyId, newId(), 9), '["not readable"'];
    assert.deepEqual(await keptOf([1], { letters }), { ownUploads: [], isLastKept: true });
    assert.equal(await keptOf([1, 2], { letters }), undefined);
    const stored = [use(1, [one, two]), use(2, [two], true)];
    assert.equal(await keptOf([1], { stored, letters }), undefined);
    assert.equal(await keptOf([1], { letters, haveUploads: false }), undefined, 'the dead letters are not read');
  });

  it('are looked for only under ids that clients made', async () => {
    const find = createFindOtherUses({
      responses: { findUsesOfReused: () => assert.fail('an id of the service has one response') },
      deadLetters: { ofSurvey: () => assert.fail('an id of the service has one response') },
    });
    const marked = [{ surveyId, responseId: newResponseId(), submittedAtMs: 1, outcome: 'COMPLETED' }] as const;
    assert.equal((await find(surveyId, marked, { haveUploads: true })).size, 0);
  });
});
