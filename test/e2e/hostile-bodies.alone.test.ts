import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import { adminClient, type Client } from '../support/client.ts';
import { assertLoopStaysFree, loopBarMs } from '../support/free-loop.ts';
import { createProcessProbe } from '../support/process-probe.ts';
import { type RunningService, startService } from '../support/service.ts';

/** As many characters as the body of a submission may have, but for some. */
const size = 255_000;
const filled = (piece: string) => `{"answers":[${piece.repeat(size / piece.length)}1]}`;

describe('a body that is refused does not block the event loop', () => {
  const probe = createProcessProbe();
  let service: RunningService;
  let admin: Client;
  let surveyId: string;
  before(async () => {
    service = await startService({ env: { ...probe.env, WORKERS: '1' } });
    admin = await adminClient(service);
    surveyId = (await admin.create('/surveys', { title: 'Public', status: 'ACTIVE' })).id;
  });
  after(async () => assert.equal(await service?.stop(), 0));

  for (const [name, body] of [
    ['numbers', filled('1,')],
    ['empty answers', filled('{},')],
    ['nested lists', filled('[[[[[[[[]]]]]]]],')],
    ['empty answers behind an escape', `{"a":"\\u0041",${filled('{},').slice(1)}`],
    ['unknown fields', `{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":1`).join(',')}}`],
  ] as const)
    it(`of a submission with a key, and a quarter of a megabyte of ${name}`, () =>
      assertLoopStaysFree(probe, service.pid, { maxMs: loopBarMs }, async () => {
        const { status } = await admin.submit(surveyId, body, { 'idempotency-key': newId() });
        assert.equal(status, 400);
      }));

  const properties = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 'v']));
  for (const [path, body, refusal] of [
    [
      '/public/surveys/:id/path',
      { answers: [], metadata: properties },
      { path: 'metadata', message: 'must have at most 20 pairs' },
    ],
    [
      '/surveys/:id/collectors',
      { name: 'Stand', metadata: properties },
      { path: 'metadata', message: 'must have at most 20 pairs' },
    ],
    [
      '/surveys/:id/questions',
      { type: 'NPS', text: 'How likely?', settings: properties },
      { path: 'settings', message: 'must have at most 50 settings' },
    ],
  ] as const)
    it(`to ${path}, with a quarter of a megabyte of ${refusal.path}`, () =>
      assertLoopStaysFree(probe, service.pid, { maxMs: loopBarMs }, async () => {
        const { status, body: reply } = await admin.call('POST', path.replace(':id', surveyId), { body });
        assert.deepEqual([status, reply.details], [400, [refusal]]);
      }));

  it('to /public/surveys/:id/path, with thirty thousand unknown fields of answers', () =>
    assertLoopStaysFree(probe, service.pid, { maxMs: loopBarMs }, async () => {
      const answers = Array.from({ length: 5000 }, () => ({ a: 0, b: 0, c: 0, d: 0, e: 0, f: 0 }));
      const { status, body } = await admin.call('POST', `/public/surveys/${newId()}/path`, { body: { answers } });
      assert.deepEqual([status, body.details.length], [400, 20]);
    }));

  const tabs = `${'\t'.repeat(255)}/`;
  for (const [name, appearance, details] of [
    [
      'an address of two thousand tabs and slashes',
      { redirectUrl: tabs.repeat(7) },
      [{ path: 'appearance.redirectUrl', message: /must be an http/ }],
    ],
    [
      'an address of sixty thousand',
      { redirectUrl: tabs.repeat(240) },
      [{ path: 'appearance.redirectUrl', message: /2000 characters$/ }],
    ],
    [
      'twenty origins of three hundred',
      { allowedOrigins: Array.from({ length: 20 }, () => `${tabs}${'\t'.repeat(44)}`) },
      Array.from({ length: 20 }, (_, n) => ({ path: `appearance.allowedOrigins.${n}`, message: /must be an origin/ })),
    ],
  ] as const)
    it(`to /surveys, with ${name}`, () =>
      assertLoopStaysFree(probe, service.pid, { maxMs: loopBarMs }, async () => {
        const { status, body } = await admin.call('POST', '/surveys', { body: { title: 'Tabs', appearance } });
        assert.deepEqual([status, body.details.length], [400, details.length]);
        for (const [n, { path, message }] of details.entries()) {
          assert.equal(body.details[n].path, path);
          assert.match(body.details[n].message, message);
        }
      }));

  for (const path of ['/api/v1/public/surveys/:id', '/s/preview', '/s/unknown'])
    it(`nor does a query of twelve thousand repeats to ${path}`, () =>
      assertLoopStaysFree(probe, service.pid, { maxMs: loopBarMs }, async () => {
        const url = new URL(`${path.replace(':id', surveyId)}?${'a&'.repeat(12_000)}`, service.base);
        const { status } = await fetch(url);
        assert.equal(status, 400);
      }));

  it('and its key is free for another body', async () => {
    const key = { 'idempotency-key': newId() };
    assert.equal((await admin.submit(surveyId, filled('{},'), key)).status, 400);
    assert.equal((await admin.submit(surveyId, { answers: [] }, key)).status, 201);
    const other = await admin.submit(surveyId, filled('{},'), key);
    assert.deepEqual([other.status, other.body.details?.reason], [409, 'IDEMPOTENCY_MISMATCH']);
  });
});
