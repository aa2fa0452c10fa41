import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Redis } from 'ioredis';
import { newId, newResponseId } from '../../../../src/platform/ids.ts';
import type { IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { createIntake, type IntakeDeps } from '../../../../src/stores/redis/intake/intake.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { appendix } from '../../../support/intake.ts';

const whole = (): IntakeSubmission => appendix(newId(), { caller: 'somebody', responseId: newResponseId(), row: '[]' });

/** A store that accepts everything. */
function intakeWith(committed: IntakeDeps['metrics']['committed']) {
  const redis = { defineCommand: () => undefined, appendBatch: async () => ['60000 1 1 1 0 0 1 '] };
  return createIntake({
    redis: redis as unknown as Redis,
    shards: createShards(1),
    metrics: { committed, submitted: () => undefined },
  });
}

it('a submission that cannot be encoded is refused, and those after it are accepted', async () => {
  const { append } = intakeWith(() => undefined);
  const unspeakable = {
    ...whole(),
    get caller(): string {
      throw new Error('for this test');
    },
  };
  await assert.rejects(append(unspeakable), { code: 'SERVICE_UNAVAILABLE' });
  assert.equal((await append(whole())).code, 'ACCEPTED');
});

it('a failure of the metrics stops no submission', async () => {
  const { append } = intakeWith(() => assert.fail('for this test'));
  for (let n = 0; n < 2; n += 1) assert.equal((await append(whole())).code, 'ACCEPTED');
});
