import assert from 'node:assert/strict';
import { it } from 'node:test';
import { replayedReply } from '../../../../src/actors/submissions/reply-text.ts';

const deps = { secrets: { resumeToken: () => 'token' } };
const saved = { outcome: 'PARTIAL' as const, submittedAtMs: Date.parse('2026-01-01T00:00:00.000Z') };
const keyHash = 'A'.repeat(22);

it('a repeat of a save in parts has its resume token if nobody could guess its key', () => {
  const tokenOf = (idempotencyKey: string | undefined, responseId?: string) =>
    JSON.parse(
      replayedReply(
        deps,
        {
          surveyId: 's',
          submission: { answers: [], isComplete: false, ...(responseId !== undefined && { responseId }) } as never,
          idempotencyKey,
        },
        keyHash,
        saved,
      ),
    ).resumeToken;
  assert.equal(tokenOf('once'), undefined);
  assert.equal(tokenOf('x'.repeat(15)), undefined);
  assert.equal(tokenOf('3f2504e0-4f89-41d3-9a0c-0305e82c3301'), 'token');
  assert.equal(tokenOf(undefined, '3f2504e0-4f89-41d3-9a0c-0305e82c3301'), 'token', 'the id is as good as a key');
});
