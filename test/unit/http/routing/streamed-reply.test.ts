import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { z } from 'zod';
import type { TextListener } from '../../../../src/ai/json-text-stream.ts';
import { conflict } from '../../../../src/errors.ts';
import { type Outcome, ok, route } from '../../../../src/http/routing/route.ts';
import { acceptsEventStream } from '../../../../src/http/routing/streamed-reply.ts';
import { eventually } from '../../../support/eventually.ts';
import { startLoopback } from '../../../support/loopback-server.ts';

describe('a reply that is streamed while it is written', () => {
  let server: Awaited<ReturnType<typeof startLoopback>>;
  let write: (reader: TextListener | undefined) => Promise<Outcome>;
  const common = {
    tag: 'Test',
    summary: 'for the test',
    replyStatus: 200,
    reply: z.unknown(),
    access: { kind: 'public' },
    limit: 'api',
    method: 'POST',
  } as const;
  const open = () =>
    startLoopback({
      api: [
        route({ ...common, path: '/told', isStreamed: true, handle: ({ reader }) => write(reader) }),
        route({ ...common, path: '/whole', handle: ({ reader }) => write(reader) }),
      ],
    });
  before(async () => {
    server = await open();
  });
  after(() => server.stop());
  beforeEach(() => {
    server.refused.length = 0;
  });
  const call = (path = '/told', init: RequestInit = {}) =>
    fetch(`${server.origin}/api/v1${path}`, { method: 'POST', headers: { accept: 'text/event-stream' }, ...init });

  it('sends text events, and at the end the usual body', async () => {
    write = async (reader) => {
      reader?.onRestart();
      reader?.onText('One\n\n"two"');
      reader?.onRestart();
      reader?.onText('Three');
      return ok({ said: 'Three' });
    };
    const reply = await call();
    assert.deepEqual(
      [reply.status, reply.headers.get('content-type'), reply.headers.get('x-ratelimit-limit')],
      [200, 'text/event-stream; charset=utf-8', '1000'],
    );
    assert.equal(
      await reply.text(),
      [
        'event: text\ndata: {"text":"One\\n\\n\\"two\\""}\n\n',
        'event: restart\ndata: {}\n\n',
        'event: text\ndata: {"text":"Three"}\n\n',
        'event: reply\ndata: {"success":true,"data":{"said":"Three"}}\n\n',
      ].join(''),
    );
  });

  it('is an ordinary reply if the client does not accept events or prefers JSON, or the route does not stream', async () => {
    write = async (reader) => ok({ isRead: reader !== undefined });
    for (const reply of [await call('/whole'), await call('/told', { headers: {} })])
      assert.deepEqual(await reply.json(), { success: true, data: { isRead: false } });
    for (const accept of [
      'text/event-stream',
      'application/json, TEXT/EVENT-STREAM',
      'text/event-stream;q=0.5',
      'text/event-stream;charset=utf-8;q=0.2, application/json ; Q=0.1',
      'text/event-stream;q=0.5, */*;q=0.1',
      'text/event-stream;q=0.5, */*, application/json;q=0',
    ])
      assert.ok(acceptsEventStream(accept), accept);
    for (const accept of [
      undefined,
      '',
      '*/*',
      'text/*',
      'text/event-streams',
      'application/json',
      'text/event-stream;q=0',
      'application/json, text/event-stream;q=0.000',
      'application/json, TEXT/EVENT-STREAM;q=0.5',
      'application/*;q=0.6, text/event-stream;q=0.5',
      '*/*, text/event-stream;charset=utf-8;q=0.1',
    ])
      assert.ok(!acceptsEventStream(accept), accept);
  });

  it('is an ordinary refusal before the first text, and an error event after it', async () => {
    write = async () => Promise.reject(conflict('ALREADY_SAVED', 'It is saved'));
    const early = await call();
    assert.deepEqual([early.status, ((await early.json()) as { code: string }).code], [409, 'CONFLICT']);
    write = async (reader) => {
      reader?.onText('One');
      throw new Error('a query that must not be shown');
    };
    const late = await call();
    const { message, ...body } = JSON.parse(/event: error\ndata: (.*)\n\n$/.exec(await late.text())?.[1] ?? '') as {
      message: string;
    };
    assert.deepEqual(
      [late.status, body],
      [200, { success: false, code: 'INTERNAL_ERROR', requestId: late.headers.get('x-request-id') }],
    );
    assert.ok(!message.includes('query'));
    assert.deepEqual(server.refused, ['CONFLICT', 'INTERNAL_ERROR']);
  });

  it('is completed after the client has gone', async () => {
    for (const isEarly of [true, false]) {
      const caller = new AbortController();
      let [begun, ended] = [false, false];
      let goOn = (): void => undefined;
      write = async (reader) => {
        if (!isEarly) reader?.onText('One');
        begun = true;
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
        reader?.onText('Two');
        ended = true;
        throw conflict('ALREADY_SAVED', 'It is saved');
      };
      const reply = call('/told', { signal: caller.signal }).catch(() => undefined);
      await eventually(() => assert.ok(begun));
      if (!isEarly) await reply;
      caller.abort();
      await reply;
      goOn();
      await eventually(() => assert.deepEqual([ended, server.refused.length], [true, isEarly ? 1 : 2]));
    }
  });

  it('delays the end of a server that stops', async () => {
    const stopping = await open();
    let goOn = (): void => undefined;
    write = async (reader) => {
      reader?.onText('One');
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      return ok('end');
    };
    const reply = await fetch(`${stopping.origin}/api/v1/told`, {
      method: 'POST',
      headers: { accept: 'text/event-stream' },
    });
    const stopped = stopping.stop();
    goOn();
    assert.match(await reply.text(), /event: reply\ndata: \{"success":true,"data":"end"\}\n\n$/);
    await stopped;
    assert.deepEqual(stopping.requested, [['/told', 200]]);
  });
});
