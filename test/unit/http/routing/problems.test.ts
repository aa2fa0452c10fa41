import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { notFound, unavailable } from '../../../../src/errors.ts';
import { createDispatch, type RequestContext, toProblem } from '../../../../src/http/routing/dispatch.ts';
import { route } from '../../../../src/http/routing/route.ts';
import { createLog, loggedError } from '../../../../src/log.ts';
import { withPostgres } from '../../../../src/stores/postgres/client.ts';

/** A log, and the messages and fields that it was given. */
function recorded() {
  const messages: string[] = [];
  const lines: any[] = [];
  const log = createLog('silent');
  log.warn = (fields: unknown, message?: string) => {
    messages.push(message ?? '');
    lines.push(fields);
  };
  log.error = log.warn;
  return { log, messages, lines };
}
const request = { requestId: 'request', route: '/surveys' };

describe('errors of handlers', () => {
  it('are refusals that fill no log while Redis is away', () => {
    const { log, messages } = recorded();
    const problems = Array.from({ length: 50 }, () => toProblem(new Error('Command timed out'), log, request));
    assert.deepEqual([...new Set(problems.map(({ code }) => code))], ['SERVICE_UNAVAILABLE']);
    // Three lines in ten seconds, of which these calls may touch the end of one and the beginning of the next.
    assert.ok(messages.length >= 1 && messages.length <= 6, `${messages.length} warnings`);
  });

  it('are written with the id of the call and the reason of the store, for the reply names no reason', async () => {
    const { log, messages, lines } = recorded();
    const refused = Object.assign(new Error('role "survey_app" is not permitted to log in'), { code: '28000' });
    const error = await withPostgres(() => Promise.reject(refused)).catch((problem: unknown) => problem);
    assert.equal(toProblem(error, log, request), error);
    assert.deepEqual(messages, ['a call was refused']);
    const [{ err, requestId, route }] = lines;
    assert.deepEqual({ requestId, route }, request);
    const { message } = loggedError(err) as Error;
    assert.equal(message, 'The control plane cannot be reached: role "survey_app" is not permitted to log in');
  });

  it('are refusals that fill no log where a store was found to be away', () => {
    const { log, messages } = recorded();
    const away = unavailable('The response store cannot be reached', 2, new Error('Memory limit exceeded'));
    for (let count = 0; count < 50; count += 1) toProblem(away, log, request);
    assert.ok(messages.length >= 3 && messages.length <= 6, `${messages.length} warnings`);
  });

  it('are not written where the reply tells the whole reason, as those of a full intake would hide other ones', () => {
    const { log, messages } = recorded();
    for (const refusal of [unavailable('The intake is full'), notFound()]) toProblem(refusal, log, request);
    assert.deepEqual(messages, []);
  });

  it('are neither counted nor written where a probe is refused', async () => {
    const { log, messages } = recorded();
    const refusal = unavailable('The service cannot be reached', 2, new Error('connect ECONNREFUSED'));
    const probe = route({
      method: 'GET',
      path: '/probe',
      operationId: 'probe',
      tag: 'Service',
      summary: 'Probe',
      access: { kind: 'public' },
      limit: 'none',
      ignoresQuery: true,
      reply: z.object({}),
      replyStatus: 200,
      handle: () => Promise.reject(refusal),
    });
    const metrics = { refused: (code: string) => void messages.push(code) };
    const dispatch = createDispatch({ log, metrics } as unknown as Parameters<typeof createDispatch>[0]);
    const match = { route: probe, params: {} };
    const { outcome } = await dispatch({ match, query: '', headers: new Map() } as unknown as RequestContext);
    assert.equal(outcome, refusal);
    assert.deepEqual(messages, []);
  });

  it('are each written where nobody expected them', () => {
    const { log, messages } = recorded();
    for (let count = 0; count < 5; count += 1)
      assert.equal(toProblem(new Error('unexpected'), log, request).code, 'INTERNAL_ERROR');
    assert.deepEqual(
      messages,
      Array.from({ length: 5 }, () => 'a handler failed'),
    );
  });
});
