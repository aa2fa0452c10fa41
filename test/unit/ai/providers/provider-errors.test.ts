import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { callFailure, isTransient, problemOf } from '../../../../src/ai/providers/provider-errors.ts';
import { Problem, type ProblemCode } from '../../../../src/errors.ts';
import { assertWithin } from '../../../support/time-bars.ts';

const failure = (status: number | undefined, message: string, headers: Record<string, string> = {}) =>
  Object.assign(new Error(message), { status, headers: new Headers(headers) });
class APIConnectionError extends Error {}

describe('failures of AI providers', () => {
  it('have a Retry-After of one second to an hour, however the provider sends it', (context) => {
    mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-02T03:04:05.700Z') });
    context.after(() => mock.timers.reset());
    const cases: [Record<string, string>, string, number][] = [
      [{ 'retry-after': '7' }, '', 7],
      [{ 'retry-after': '0.2' }, '', 1],
      [{ 'retry-after': '0' }, '', 1],
      [{ 'retry-after': '99999999' }, '', 3600],
      [{ 'retry-after-ms': '1500', 'retry-after': '9' }, '', 2],
      [{}, 'Quota exceeded. Please retry in 41.7s.', 42],
      [{}, '', 30],
      [{ 'retry-after': 'soon' }, '', 30],
      [{ 'retry-after': '-5' }, '', 30],
      [{ 'retry-after': 'Infinity' }, '', 30],
      [{ 'retry-after': '' }, '', 30],
      [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, '', 1],
      [{ 'retry-after': 'Fri, 02 Jan 2026 03:04:10 GMT' }, '', 5],
    ];
    for (const [headers, words, seconds] of cases)
      assert.equal(
        problemOf(failure(429, words, headers)).retryAfterSeconds,
        seconds,
        JSON.stringify([headers, words]),
      );
  });

  it('are read in a moment, however long the provider’s message is', () => {
    for (const words of ['model ', ' ', 'retry in 1', 'model_not', '1'])
      for (const count of [20_000, 600_000]) {
        const said = failure(400, words.repeat(count));
        const startedAt = performance.now();
        assert.equal(problemOf(said).code, 'AI_PROVIDER_ERROR');
        assertWithin(2000, performance.now() - startedAt, `${count} times ${words}`);
      }
    assert.equal(
      problemOf(failure(400, `The model x does not exist. ${' '.repeat(5000)}`)).code,
      'AI_MODEL_UNAVAILABLE',
    );
  });

  it('are those of the model where it is unknown, or not for this account or region, and of the key otherwise', () => {
    const noAccess = 'Project `proj_1` does not have access to model `gpt-x`';
    const cases: [status: number, message: string, code: ProblemCode][] = [
      [403, noAccess, 'AI_MODEL_UNAVAILABLE'],
      [403, 'model_not_found', 'AI_MODEL_UNAVAILABLE'],
      [400, "The model 'x' does not exist", 'AI_MODEL_UNAVAILABLE'],
      [403, 'unsupported_country_region_territory', 'AI_MODEL_UNAVAILABLE'],
      [404, '', 'AI_MODEL_UNAVAILABLE'],
      [401, noAccess, 'AI_KEY_INVALID'],
      [403, 'Your API key does not have permission to use the specified resource', 'AI_KEY_INVALID'],
      [400, 'API key not valid', 'AI_KEY_INVALID'],
    ];
    for (const [status, message, code] of cases)
      assert.equal(problemOf(failure(status, message)).code, code, `${status} ${message}`);
  });

  it('never quote the provider’s message', () => {
    for (const status of [400, 401, 403, 404, 418, 429, 500, undefined])
      assert.doesNotMatch(
        problemOf(failure(status, 'key sk-secret and an answer')).message,
        /secret|answer\b(?! in time)/,
      );
  });

  it('are transient where the provider broke down or cannot be reached, and not where it refused or sent an invalid reply', () => {
    const passing = [
      failure(500, ''),
      failure(503, ''),
      failure(529, ''),
      failure(408, ''),
      new APIConnectionError('cut'),
      Object.assign(new Error('slow'), { name: 'TimeoutError' }),
    ];
    const lasting = [
      failure(400, ''),
      failure(401, ''),
      failure(404, ''),
      failure(429, ''),
      failure(302, ''),
      new SyntaxError('no JSON'),
      new Problem('AI_PROVIDER_ERROR', 'The AI provider refused the content'),
    ];
    assert.deepEqual(
      passing.map((error) => isTransient(problemOf(error))),
      passing.map(() => true),
    );
    assert.deepEqual(
      lasting.map((error) => isTransient(problemOf(error))),
      lasting.map(() => false),
    );
  });

  it('are the caller’s reason after an abort, and the provider’s after a time limit', async () => {
    const stopped = new AbortController();
    stopped.abort(new Error('cancelled'));
    assert.equal(callFailure(failure(undefined, 'aborted'), stopped.signal), stopped.signal.reason);
    const late = AbortSignal.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    const problem = callFailure(failure(undefined, 'aborted'), late);
    assert.ok(problem instanceof Problem && problem.code === 'AI_PROVIDER_ERROR' && /in time/.test(problem.message));
  });
});
