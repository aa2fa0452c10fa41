import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Route } from '../../../../src/http/routing/route.ts';
import { readSubmissionRequest } from '../../../../src/http/submit/submit-route.ts';
import { everyRoute, routeName } from '../../../support/every-route.ts';

/** What a caller must not be able to set by writing it into a body, and where one of these names is meant. */
const foreign = [
  'id',
  'ownerId',
  'role',
  'userId',
  'isAdmin',
  'isDisabled',
  'passwordHash',
  'createdAt',
  'updatedAt',
  'publishedAt',
  'version',
  'revision',
  'responseCount',
  'accessToken',
  'secret',
  'key',
  'surveyId',
  'status',
  '__proto__',
  'constructor',
];
const meant: Readonly<Record<string, readonly string[]>> = {
  'POST /users': ['role'],
  'PUT /users/{id}': ['role', 'isDisabled'],
  'POST /api-keys': ['role'],
  'PUT /surveys/{id}/members/{userId}': ['role'],
  'POST /surveys/{id}/members': ['role'],
  'PUT /surveys/{id}/owner': ['userId'],
  'POST /surveys': ['status'],
  'PUT /surveys/{id}': ['status'],
  'POST /surveys/{id}/publish': ['status'],
  // What a file says of the survey that it was read from; `e2e/survey-import` shows that a new one has its own.
  'POST /surveys/import': [
    'accessToken',
    'createdAt',
    'id',
    'ownerId',
    'publishedAt',
    'responseCount',
    'status',
    'updatedAt',
    'version',
  ],
  // The revision that was read: it is compared, never stored.
  'POST /ai/conversations/{id}/messages': ['revision'],
  'POST /ai/conversations/{id}/save': ['revision'],
  'POST /webhooks': ['surveyId'],
  'PUT /webhooks/{id}': ['surveyId'],
  'POST /webhooks/{id}/replay': ['status'],
};

const { api } = await everyRoute();
const writing = api.filter(({ method }) => method === 'POST' || method === 'PUT');

/** The names that the body's schema refuses as unknown. */
function refusedNames({ body }: Route): string[] {
  const given = JSON.parse(`{${foreign.map((name) => `${JSON.stringify(name)}:"x"`).join(',')}}`);
  const result = body?.safeParse(given);
  assert.ok(result && !result.success, 'a body of nothing but foreign fields is refused');
  return result.error.issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
}

describe('a body', () => {
  it('is taken by POST and PUT only', () => {
    assert.deepEqual(
      api.filter(({ method, body }) => body && method !== 'POST' && method !== 'PUT').map(routeName),
      [],
    );
    assert.deepEqual([...new Set(api.map(({ method }) => method))].sort(), ['DELETE', 'GET', 'POST', 'PUT']);
    assert.deepEqual(
      Object.keys(meant).filter((name) => !writing.some((route) => routeName(route) === name)),
      [],
    );
  });

  for (const route of writing.filter(({ body }) => body !== undefined))
    it(`of ${routeName(route)} is refused with fields that are not the caller's to set`, () => {
      const allowed = meant[routeName(route)] ?? [];
      assert.deepEqual(foreign.filter((name) => !refusedNames(route).includes(name)).sort(), [...allowed].sort());
    });

  it('with unknown fields is also refused by the reader of submissions', () => {
    const bytes = Buffer.from(
      JSON.stringify({
        answers: [],
        ...Object.fromEntries(foreign.filter((name) => name !== '__proto__').map((name) => [name, 'x'])),
      }),
    );
    const { issues } = readSubmissionRequest(
      {
        surveyId: 'x',
        contentType: 'application/json',
        contentEncoding: undefined,
        idempotencyKey: undefined,
        surveyToken: undefined,
        address: 'x',
      },
      bytes,
    );
    assert.deepEqual(issues.map(({ path }) => path).sort(), foreign.filter((name) => name !== '__proto__').sort());
  });

  it('without a schema is refused, or is not JSON', () => {
    assert.deepEqual(
      writing
        .filter(({ body, bodyKind }) => body === undefined && bodyKind !== undefined && bodyKind !== 'json')
        .map(routeName),
      [
        'POST /collectors/{collectorId}/invitations',
        'PUT /surveys/{id}/logo',
        'POST /uploads/surveys/{surveyId}/questions/{questionId}',
      ],
    );
  });
});
