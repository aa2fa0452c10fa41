import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { uploadInvitations } from '../support/invitations.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('uploads of invitations', () => {
  let service: RunningService;
  let admin: Client;
  useService(
    (served) => {
      ({ service, admin } = served);
    },
    { env: { WORKERS: '1' } },
  );

  const makeCollector = async (kind = 'INVITATION'): Promise<string> => {
    const survey = await admin.create('/surveys', { title: 'By invitation', status: 'ACTIVE' });
    return (await admin.create(`/surveys/${survey.id}/collectors`, { name: 'List', kind })).id;
  };
  const upload = (collectorId: string, body: string | Buffer | ReadableStream, headers?: Record<string, string>) =>
    uploadInvitations(service, admin, collectorId, body, headers);
  const total = async (collectorId: string) => (await admin.get(`/collectors/${collectorId}/invitations/counts`)).total;
  const rowsOf = (count: number, change: (n: number) => object = (n) => ({ reference: `guest ${n}` })) =>
    Array.from({ length: count }, (_, n) => `${JSON.stringify(change(n))}\n`).join('');

  it('reply with a token for each of 100,000 rows, in their order', async () => {
    const collectorId = await makeCollector();
    const { status, text } = await upload(
      collectorId,
      rowsOf(100_000, (n) => ({ reference: `guest ${n}`, metadata: { team: `${n % 7}` } })),
    );
    assert.equal(status, 201, text.slice(0, 300));
    const made = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { reference: string; token: string });
    assert.deepEqual(
      made.map(({ reference }) => reference),
      Array.from({ length: 100_000 }, (_, n) => `guest ${n}`),
    );
    assert.equal(new Set(made.map(({ token }) => token)).size, 100_000);
    assert.equal(await total(collectorId), 100_000);
    const [last] = await admin.get(`/collectors/${collectorId}/invitations?limit=1&page=100000`);
    assert.equal(last.reference, 'guest 99999');
  });

  it('store nothing if a row is wrong, or if there are too many', async () => {
    const collectorId = await makeCollector();
    const wrong = rowsOf(20_000, (n) => (n === 15_000 ? { expiresAt: 'never' } : { reference: `r${n}` }));
    const refused = await upload(collectorId, wrong);
    assert.deepEqual([refused.status, refused.body.details[0].path], [400, 'lines.15001.expiresAt']);
    const many = await upload(collectorId, rowsOf(100_001));
    assert.deepEqual([many.status, many.body.details[0].path], [400, 'lines.100001']);
    const twice = await upload(collectorId, 'reference\na\nb\na\n', { 'content-type': 'text/csv' });
    assert.deepEqual([twice.status, twice.body.details[0].path], [400, 'lines.4.reference']);
    assert.equal(await total(collectorId), 0);
  });

  it('are refused where they fit nothing', async () => {
    const collectorId = await makeCollector();
    const open = await makeCollector('OPEN');
    const statusOf = async (id: string, body: string, headers?: Record<string, string>) =>
      (await upload(id, body, headers)).status;
    assert.equal(await statusOf(open, '{}\n'), 400);
    assert.equal(await statusOf(newId(), '{}\n'), 404);
    assert.equal(await statusOf(collectorId, '{}', { 'content-type': 'application/json' }), 415);
    assert.equal(await statusOf(collectorId, '{}', { 'content-encoding': 'gzip' }), 415);
    assert.equal(await statusOf(collectorId, ''), 400);
    assert.equal(await statusOf(collectorId, '{}', { authorization: 'Bearer nobody' }), 401);
    await admin.remove(`/collectors/${collectorId}`);
    assert.equal(await statusOf(collectorId, '{}\n'), 404);
  });

  it('that are slow keep a place each, which others do not wait for, and leave nothing if they break off', async () => {
    const collectorId = await makeCollector();
    /** A slow upload; again if another one had its place just then. */
    const slow = () => {
      let sender: ReadableStreamDefaultController | undefined;
      const send = async (): Promise<Awaited<ReturnType<typeof upload>>> => {
        const start = (controller: ReadableStreamDefaultController) => {
          controller.enqueue(Buffer.from('{"reference":"slow'));
          sender = controller;
        };
        const cancel = () => (sender = undefined);
        const reply = await upload(collectorId, new ReadableStream({ start, cancel }));
        return reply.status === 503 ? send() : reply;
      };
      return { reply: send(), sender: () => sender };
    };
    const [first, second] = [slow(), slow()];
    // A character now and then, so that the connection is not idle.
    const dripping = setInterval(() => {
      for (const { sender } of [first, second]) sender()?.enqueue(Buffer.from('o'));
    }, 200).unref();
    const refused = await eventually(async () => {
      const reply = await upload(collectorId, '{"reference":"next"}\n');
      assert.equal(reply.status, 503);
      return reply;
    });
    assert.equal(refused.body.code, 'SERVICE_UNAVAILABLE');
    const before = await total(collectorId);
    clearInterval(dripping);
    first.sender()?.enqueue(Buffer.from('ly"}\n'));
    first.sender()?.close();
    assert.equal((await first.reply).status, 201);
    second.sender()?.error(new Error('broken off'));
    await assert.rejects(second.reply);
    await eventually(async () => assert.equal((await upload(collectorId, '{"reference":"last"}\n')).status, 201));
    assert.equal(await total(collectorId), before + 2);
  });
});
