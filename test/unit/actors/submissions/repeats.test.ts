import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { digestOf, findReplay, keyHashOf, legacyDigestOf } from '../../../../src/actors/submissions/repeats.ts';
import { Problem } from '../../../../src/errors.ts';
import { request } from '../../../support/bare-submissions.ts';

describe('a repeat of a submission whose record the response store has', () => {
  const body = { answers: [{ questionId: 'q', numberValue: 1 }], respondent: 'Anna' };
  const repeated = { ...request('one'), body };
  const keyHash = keyHashOf(repeated);

  /** What a repeat gets whose record has this digest. */
  const found = (recorded: string, given = repeated) =>
    findReplay(
      {
        secrets: { resumeToken: () => 'token' },
        findRecords: async () => [
          {
            hash: keyHash,
            version: 1,
            digest: recorded,
            surveyId: given.surveyId,
            submittedAtMs: 0,
            outcome: 'COMPLETED',
            reply: '',
          },
        ],
      },
      { request: given, keyHash, idHash: '', digest: digestOf(given), pathOf: async () => undefined },
    );

  it('gets the first reply, also where an earlier version has made the record', async () => {
    assert.notEqual(digestOf(repeated), legacyDigestOf(repeated));
    for (const digest of [digestOf(repeated), legacyDigestOf(repeated)])
      assert.equal(typeof (await found(digest)), 'string');
  });

  it('is refused where the body was another', async () => {
    const other = { ...repeated, body: { ...body, respondent: 'Bert' } };
    for (const digest of [digestOf(repeated), legacyDigestOf(repeated)]) {
      const problem = await found(digest, other);
      assert.ok(problem instanceof Problem && problem.code === 'CONFLICT');
    }
  });
});
