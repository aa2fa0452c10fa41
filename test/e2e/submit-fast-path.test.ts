import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client, type Reply } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';
import { assertWithin } from '../support/time-bars.ts';

/**
 * Said of the coding of the body, this changes nothing but the way that a submission takes through the service: the
 * general one.
 */
const generalWay = { 'content-encoding': 'identity' };

describe('the fast path of submissions', () => {
  let service: RunningService;
  let admin: Client;
  before(async () => {
    service = await startService({ env: { CORS_ORIGINS: 'https://forms.example.org' } });
    admin = await adminClient(service);
  });
  after(() => service.stop());

  async function survey(body: object = {}): Promise<{ id: string; questionId: string; token: string }> {
    const { id } = await admin.create('/surveys', { title: 'Door', ...body });
    const question = await admin.create(`/surveys/${id}/questions`, {
      type: 'SHORT_TEXT',
      text: 'A word',
      isRequired: true,
    });
    await admin.post(`/surveys/${id}/publish`);
    return { id, questionId: question.id, token: (await admin.get(`/surveys/${id}`)).accessToken };
  }

  const changing = /^(date|x-request-id|x-ratelimit-reset|x-ratelimit-remaining|retry-after)$/;
  /** The parts that must be equal on both paths: all but ids and times, which must exist. */
  function faceOf({ status, headers, body }: Reply) {
    const shown = JSON.stringify(body)
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
      .replace(/"resumeToken":"[^"]+"/, 'token');
    return {
      status,
      shown,
      headers: [...headers].map(([name, value]) => `${name}: ${changing.test(name) ? 'any' : value}`),
    };
  }

  it('leaves a call with a query to the general path, which refuses it', async () => {
    const { id, questionId } = await survey();
    const body = { answers: [{ questionId, textValue: 'word' }] };
    const refused = await admin.call('POST', `/responses/surveys/${id}/submit?x=1`, { body });
    assert.deepEqual(
      [refused.status, refused.body.details],
      [400, [{ path: 'x', message: 'this field is not known' }]],
    );
    assert.equal((await admin.call('POST', `/responses/surveys/${id}/submit?`, { body })).status, 201);
  });

  it('gives the same replies as the general path, to valid and invalid calls', async () => {
    const { id, questionId } = await survey();
    const hidden = await survey({ visibility: 'PRIVATE' });
    const draft = (await admin.create('/surveys', { title: 'Not open' })).id;
    const answers = [{ questionId, textValue: 'ü 👩‍👩‍👧' }];
    const [key, made, keyed] = [randomUUID(), randomUUID(), randomUUID()];
    const json = { 'content-type': 'application/json' };
    const calls: [name: string, surveyId: string, body: string, headers: Record<string, string>][] = [
      ['a good one', id, JSON.stringify({ answers }), json],
      [
        'another spelling of the type',
        id,
        JSON.stringify({ answers }),
        { 'content-type': 'Application/JSON; charset="UTF-8"' },
      ],
      ['a partial one', id, JSON.stringify({ answers, isComplete: false }), json],
      ['one that clears nothing', id, JSON.stringify({ answers, cleared: [] }), json],
      ['one that clears an unknown question', id, JSON.stringify({ answers, cleared: ['x'] }), json],
      ['one under a key', id, JSON.stringify({ answers }), { ...json, 'idempotency-key': key }],
      ['the same again', id, JSON.stringify({ answers }), { ...json, 'idempotency-key': key }],
      [
        'the key with another body',
        id,
        JSON.stringify({ answers: [{ questionId, textValue: 'other' }] }),
        { ...json, 'idempotency-key': key },
      ],
      ['a key that is none', id, JSON.stringify({ answers }), { ...json, 'idempotency-key': 'two words' }],
      [
        'a key with a letter that is no ASCII',
        id,
        JSON.stringify({ answers }),
        { ...json, 'idempotency-key': 'a\xe9b' },
      ],
      [
        'a token that ends in one',
        hidden.id,
        JSON.stringify({ answers: [] }),
        { ...json, 'x-survey-token': `${hidden.token}\xe9` },
      ],
      [
        'an origin that ends in one',
        id,
        JSON.stringify({ answers }),
        { ...json, origin: 'https://forms.example.org\xe9' },
      ],
      [
        'a header of no concern with one',
        id,
        JSON.stringify({ answers }),
        { ...json, 'user-agent': 'caf\xe9', authorization: 'Bearer \xe9' },
      ],
      ['an id of the client', id, JSON.stringify({ answers, responseId: made }), json],
      ['a survey that is not there', randomUUID(), JSON.stringify({ answers }), json],
      ['an id that is none', 'nothing', JSON.stringify({ answers }), json],
      ['a survey that is not open', draft, JSON.stringify({ answers }), json],
      ['a PRIVATE survey without its token', hidden.id, JSON.stringify({ answers: [] }), json],
      [
        'a PRIVATE survey with a wrong one',
        hidden.id,
        JSON.stringify({ answers: [] }),
        { ...json, 'x-survey-token': 'wrong' },
      ],
      ['no JSON', id, '{"answers":', json],
      ['no object', id, '[1]', json],
      ['no body', id, '', json],
      ['no type', id, JSON.stringify({ answers }), { 'content-type': 'text/plain' }],
      ['a question that is missing', id, JSON.stringify({ answers: [] }), json],
      ['a field that is not known', id, JSON.stringify({ answers, [keyed]: 1 }), json],
      [
        'another origin that is listed',
        id,
        JSON.stringify({ answers }),
        { ...json, origin: 'https://forms.example.org' },
      ],
      [
        'another origin that is not',
        id,
        JSON.stringify({ answers }),
        { ...json, origin: 'https://elsewhere.example.org' },
      ],
      ['a NUL', id, '{"answers":[{"questionId":"a","textValue":"\\u0000"}]}', json],
    ];
    for (const [name, surveyId, body, headers] of calls) {
      const call = (more: Record<string, string>) =>
        admin.call('POST', `/responses/surveys/${surveyId}/submit`, {
          body,
          headers: { ...headers, ...more },
          token: undefined,
        });
      const short = await call({});
      // The key and the id have been used by then, so the general way is shown fresh ones where the first use matters.
      const general = await call({
        ...generalWay,
        ...(name === 'one under a key' && { 'idempotency-key': randomUUID() }),
      });
      if (name === 'an id of the client')
        assert.equal(
          short.headers.get('idempotent-replayed') ?? general.headers.get('idempotent-replayed'),
          'true',
          name,
        );
      else assert.deepEqual(faceOf(short), faceOf(general), name);
      assert.match(short.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/, name);
    }
  });

  it('returns the X-Request-Id of the client', async () => {
    const { id } = await survey();
    const reply = await admin.submit(id, { answers: [] }, { 'x-request-id': 'trace-7' });
    assert.deepEqual(
      [reply.status, reply.headers.get('x-request-id'), reply.body.requestId],
      [400, 'trace-7', 'trace-7'],
    );
  });

  it('accepts bodies in chunks, and drops aborted ones', async () => {
    const { id, questionId } = await survey();
    const body = JSON.stringify({ answers: [{ questionId, textValue: 'x'.repeat(100) }] });
    const head = `POST /api/v1/responses/surveys/${id}/submit HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    const say = (pieces: readonly string[], isCut: boolean) =>
      new Promise<string>((resolve, reject) => {
        let heard = '';
        const socket = connect(service.port, '127.0.0.1');
        socket.setNoDelay(true);
        const next = (index: number): void => {
          const piece = pieces[index];
          if (piece !== undefined) socket.write(piece, () => setImmediate(next, index + 1));
          else if (isCut) socket.destroy();
        };
        socket.on('connect', () => next(0));
        socket.on('data', (chunk) => {
          heard += chunk.toString();
          socket.end();
        });
        socket.on('close', () => resolve(heard));
        socket.on('error', reject);
      });
    const pieces = [head, ...(body.match(/.{1,50}/gs) ?? [])];
    assert.match(await say(pieces, false), /^HTTP\/1.1 201 /);
    await Promise.all(Array.from({ length: 20 }, () => say(pieces.slice(0, 2), true)));
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 1));
    // Aborted calls have ended: the stopping service waits for none of them.
    const startedAt = performance.now();
    await service.stop();
    assertWithin(8000, performance.now() - startedAt, 'the stop, which no aborted call holds up,');
  });
});
