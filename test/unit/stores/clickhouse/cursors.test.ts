import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Problem } from '../../../../src/errors.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { decodeCursor, encodeCursor } from '../../../../src/stores/clickhouse/read/pages.ts';

const surveyId = '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10';

test('a cursor decodes to the key that it encodes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), fc.uuid(), (submittedAtMs, responseId) =>
      assert.deepEqual(decodeCursor(surveyId, encodeCursor(surveyId, { submittedAtMs, responseId })), {
        submittedAtMs,
        responseId,
      }),
    ),
  );
});

test('a cursor of another survey is refused', () => {
  const cursor = encodeCursor(newId(), { submittedAtMs: 0, responseId: newId() });
  assert.throws(
    () => decodeCursor(newId(), cursor),
    (error: unknown) => error instanceof Problem && error.code === 'VALIDATION_ERROR',
  );
});

test('a cursor of a former version, without a survey tag, is still decoded', () => {
  const key = { submittedAtMs: 1_790_000_000_000, responseId: newId() };
  assert.deepEqual(
    decodeCursor(surveyId, Buffer.from(`${key.submittedAtMs}.${key.responseId}`).toString('base64url')),
    key,
  );
});

test('arbitrary texts are refused as cursors with a validation error', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (cursor) =>
      assert.throws(
        () => decodeCursor(surveyId, cursor),
        (error: unknown) => error instanceof Problem && error.code === 'VALIDATION_ERROR',
      ),
    ),
  );
});
