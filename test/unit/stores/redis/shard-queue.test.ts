import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { newId, newResponseId } from '../../../../src/platform/ids.ts';
import type { IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { createIntake, type IntakeDeps } from '../../../../src/stores/redis/intake/intake.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { appendix } from '../../../support/intake.ts';

const surveyId = newId();
const whole = (): IntakeSubmission =>
  appendix(surveyId, { caller: 'somebody', responseId: newResponseId(), row: '[]' });

/** A store that accepts everything, unless said otherwise. */
function intakeWith(
  committed: IntakeDeps['metrics']['committed'],
  appendBatch = async (...fields: unknown[]): Promise<string[]> => {
    await nextTick();
    return [`60000 ${fields.at(-3)}`];
  },
) {
  const redis = { defineCommand: () => undefined, appendBatch };
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

it('what Redis got and did not reply to may be stored, and is not said to be refused', async () => {
  const unknown = /^It is not known whether the response was stored: .* Idempotency-Key or responseId$/;
  const refused = /^Responses cannot be stored durably right now$/;
  for (const [failure, message] of [
    ['Command timed out', unknown],
    ['Connection is closed.', unknown],
    ["Stream isn't writeable and enableOfflineQueue options is false", refused],
    ["OOM command not allowed when used memory > 'maxmemory'.", refused],
    ['MISCONF Errors writing to the AOF file', refused],
    ['NOPERM this user has no permissions to run the evalsha command', refused],
    ['NOPERM ACL failure in script: User app has no permissions to access a key', unknown],
  ] as const) {
    let fail = (): void => undefined;
    const { append } = intakeWith(
      () => undefined,
      () => new Promise((_resolve, reject) => (fail = () => reject(new Error(failure)))),
    );
    const sent = assert.rejects(append(whole()), { code: 'SERVICE_UNAVAILABLE', message });
    await nextTick();
    const waiting = assert.rejects(append(whole()), { code: 'SERVICE_UNAVAILABLE', message: refused });
    fail();
    await Promise.all([sent, waiting]);
  }
});

it('a failure of the metrics stops no submission', async () => {
  const { append } = intakeWith(() => assert.fail('for this test'));
  for (let n = 0; n < 2; n += 1) assert.equal((await append(whole())).code, 'ACCEPTED');
});

it('callers who wait for their replies travel in groups of about the same size', async () => {
  const sizes: number[] = [];
  const { append } = intakeWith((count) => sizes.push(count));
  const [callers, rounds] = [64, 20];
  const call = async () => {
    for (let n = 0; n < rounds; n += 1) assert.equal((await append(whole())).code, 'ACCEPTED');
  };
  await Promise.all(Array.from({ length: callers }, call));
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    callers * rounds,
  );
  assert.ok(Math.max(...sizes) <= callers / 2, sizes.join(' '));
});
