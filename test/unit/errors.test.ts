import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  conflict,
  notFound,
  Problem,
  type ProblemCode,
  problemTable,
  tooManyConflicts,
  unavailable,
  validationProblem,
} from '../../src/errors.ts';
import { refusalsOf } from '../../src/http/reference/refusals.ts';
import { reference } from '../support/reference.ts';

/** As published: a code or status that changes breaks clients. */
const published: Record<ProblemCode, number> = {
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  VALIDATION_ERROR: 400,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  SERVICE_UNAVAILABLE: 503,
  AI_NOT_CONFIGURED: 503,
  AI_KEY_INVALID: 502,
  AI_RATE_LIMITED: 503,
  AI_MODEL_UNAVAILABLE: 502,
  AI_PROVIDER_ERROR: 502,
  AI_DISABLED: 409,
};

const { api, document } = reference;

describe('the problem table', () => {
  it('has exactly the published codes with their statuses', () => {
    assert.deepEqual(
      Object.fromEntries(Object.entries(problemTable).map(([code, { status }]) => [code, status])),
      published,
    );
  });

  it('matches the reference: its list of codes, its schema and its replies', () => {
    const rows = [...document.info.description.matchAll(/^\| ([A-Z_]+) \| (\d{3}) \| .+ \|$/gm)].map(
      ([, code, status]: string[]) => [code, Number(status)],
    );
    assert.deepEqual(Object.fromEntries(rows), published);
    assert.deepEqual(
      [...document.components.schemas.Problem.properties.code.enum].sort(),
      Object.keys(published).sort(),
    );
    for (const name of Object.keys(document.components.responses))
      for (const code of name.split('.')) assert.ok(code in published, name);
  });

  it('has no code that no route can give', () => {
    // METHOD_NOT_ALLOWED is given where a path has no route for a method.
    const given = new Set<ProblemCode>([...api.flatMap(refusalsOf), 'METHOD_NOT_ALLOWED']);
    assert.deepEqual(
      Object.keys(published).filter((code) => !given.has(code as ProblemCode)),
      [],
    );
  });

  it('words every refusal for people, without internal names', () => {
    for (const { message } of Object.values(problemTable)) assert.match(message, /^[A-Z][A-Za-z /’]+$/);
  });

  it('asks callers to come again in a second after too many changes', () => {
    for (const what of ['survey', 'response'] as const) {
      const problem = tooManyConflicts(what);
      assert.deepEqual(
        [problem.code, problem.retryAfterSeconds, problem.message],
        ['SERVICE_UNAVAILABLE', 1, `The ${what} is being changed too often right now`],
      );
    }
  });
});

describe('a problem', () => {
  it('names the first validation issue and keeps at most twenty', () => {
    const findings = Array.from({ length: 30 }, (_, index) => ({ path: `answers.${index}`, message: 'is wrong' }));
    const problem = validationProblem(findings);
    assert.equal(problem.status, 400);
    assert.equal(problem.message, 'answers.0: is wrong');
    assert.deepEqual(problem.details, findings.slice(0, 20));
  });

  it('carries its reason, its retry time and its cause', () => {
    assert.deepEqual(conflict('QUOTA_REACHED', 'full').details, { reason: 'QUOTA_REACHED' });
    assert.equal(notFound('survey').message, 'There is no such survey');
    const cause = new Error('refused');
    const problem = unavailable('not now', 7, cause);
    assert.deepEqual([problem.status, problem.retryAfterSeconds, problem.cause], [503, 7, cause]);
  });

  it('is not changed by further headers, which make a copy', () => {
    const first = new Problem('CONFLICT', 'no', { details: { reason: 'SURVEY_ENDED' }, headers: [['a', '1']] });
    const second = first.with([['b', '2']]);
    assert.deepEqual(first.headers, [['a', '1']]);
    assert.deepEqual(second.headers, [
      ['a', '1'],
      ['b', '2'],
    ]);
    assert.deepEqual(
      [second.code, second.message, second.details, second.retryAfterSeconds],
      ['CONFLICT', 'no', { reason: 'SURVEY_ENDED' }, undefined],
    );
  });
});
