import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { apiRouteNames, assertConforms } from '../../../support/conform.ts';

const standing = {
  'content-type': 'application/json; charset=utf-8',
  'x-request-id': 'r1',
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': '99',
  'x-ratelimit-reset': '1800000000',
};
const reply = (status: number, body: unknown, headers: Record<string, string> = standing) => ({
  status,
  body,
  headers: new Headers(headers),
});
const deleted = (data: object = {}) => reply(200, { success: true, data: { id: newId(), deleted: true, ...data } });
const refused = (status: number, code: string, more: object = {}) =>
  reply(status, { success: false, message: 'No', code, requestId: 'r1', ...more });

describe('the check that tests hold replies against', () => {
  it('accepts documented replies', () => {
    assertConforms('DELETE /surveys/{id}', deleted());
    assertConforms('GET /audit', reply(200, { success: true, data: [], pagination: { page: 1, limit: 20, total: 0 } }));
    assertConforms('DELETE /surveys/{id}', refused(404, 'NOT_FOUND'));
    assertConforms(
      'POST /surveys',
      refused(400, 'VALIDATION_ERROR', { details: [{ path: 'title', message: 'is missing' }] }),
    );
    assert.ok(apiRouteNames.includes('DELETE /surveys/{id}'));
  });

  it('notices wrong data, a wrong status, and anything beside the envelope', () => {
    for (const wrong of [
      deleted({ deleted: false }),
      deleted({ extra: 1 }),
      { ...deleted(), status: 201 },
      reply(200, { success: true, data: { id: newId(), deleted: true }, pagination: { page: 1, limit: 1, total: 1 } }),
      reply(200, { id: newId(), deleted: true }),
    ])
      assert.throws(() => assertConforms('DELETE /surveys/{id}', wrong), assert.AssertionError);
    assert.throws(() => assertConforms('GET /audit', reply(200, { success: true, data: [] })), /pagination/);
  });

  it('notices each missing header', () => {
    for (const name of Object.keys(standing)) {
      const { [name as keyof typeof standing]: _, ...rest } = standing;
      assert.throws(
        () => assertConforms('DELETE /surveys/{id}', reply(200, deleted().body, rest)),
        assert.AssertionError,
        name,
      );
    }
  });

  it('notices a refusal with another status, without its reason or wait, or of a code that the reference does not name', () => {
    assert.throws(() => assertConforms('DELETE /surveys/{id}', refused(403, 'NOT_FOUND')), assert.AssertionError);
    assert.throws(() => assertConforms('PUT /surveys/{id}', refused(409, 'CONFLICT')), /reason/);
    assert.throws(() => assertConforms('GET /surveys', refused(429, 'RATE_LIMITED')), /Retry-After/);
    assert.throws(
      () => assertConforms('GET /surveys', refused(502, 'AI_PROVIDER_ERROR')),
      /does not name AI_PROVIDER_ERROR/,
    );
    assert.throws(() => assertConforms('GET /surveys', refused(403, 'FORBIDDEN')), /does not name FORBIDDEN/);
    assert.throws(() => assertConforms('GET /nothing', deleted()), /no route/);
  });
});
