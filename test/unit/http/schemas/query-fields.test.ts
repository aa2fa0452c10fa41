import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { ok, route } from '../../../../src/http/routing/route.ts';
import {
  booleanField,
  listField,
  pageFields,
  startField,
  untilField,
} from '../../../../src/http/schemas/query-fields.ts';
import { startLoopback } from '../../../support/loopback-server.ts';

const query = z
  .strictObject({
    ...pageFields(100),
    isComplete: booleanField.optional(),
    status: z.enum(['ON', 'OFF']).optional(),
    startDate: startField.optional(),
    filter: listField(z.string().min(3), 3).default([]).describe('some'),
  })
  .refine(() => true);

describe('a query', () => {
  let server: Awaited<ReturnType<typeof startLoopback>>;
  before(async () => {
    const list = route({
      method: 'GET',
      path: '/list',
      tag: 'Test',
      summary: 'for the test',
      access: { kind: 'public' },
      limit: 'api',
      query,
      reply: z.unknown(),
      replyStatus: 200,
      handle: async (call) => ok(call.query),
    });
    server = await startLoopback({ api: [list] });
  });
  after(() => server.stop());

  const ask = async (
    text: string,
  ): Promise<{ data?: Record<string, unknown>; details?: { path: string; message: string }[] }> =>
    (await fetch(`${server.origin}/api/v1/list?${text}`)).json() as never;
  const said = async (text: string) => (await ask(text)).details?.map(({ path, message }) => `${path}: ${message}`);

  it('refuses a repeated parameter of any kind that takes one value', async () => {
    for (const [name, value] of [
      ['limit', '1'],
      ['page', '2'],
      ['isComplete', 'true'],
      ['status', 'ON'],
      ['startDate', '2026-01-01'],
    ])
      assert.deepEqual(await said(`${name}=${value}&${name}=${value}`), [`${name}: may be given once`]);
    assert.deepEqual(await said('stranger=1&stranger=2'), ['stranger: this field is not known']);
  });

  it('names the bound that a number exceeds, however many digits it has', async () => {
    for (const digits of ['2147483648', '9'.repeat(30), '9'.repeat(400)]) {
      assert.deepEqual(await said(`page=${digits}`), ['page: must be at most 100000000']);
      assert.deepEqual(await said(`limit=${digits}`), ['limit: must be at most 100']);
    }
    for (const text of ['-1', '1.5', '1e3', 'x', ''])
      assert.deepEqual(await said(`page=${text}`), ['page: must be a whole number'], text);
  });

  it('accepts a list parameter once or several times, and checks every value', async () => {
    assert.deepEqual((await ask('filter=abc')).data?.['filter'], ['abc']);
    assert.deepEqual((await ask('filter=abc&filter=def')).data?.['filter'], ['abc', 'def']);
    assert.deepEqual((await ask('')).data?.['filter'], []);
    assert.deepEqual(await said('filter=x'), ['filter: must have at least 3 characters']);
    assert.deepEqual(await said('filter=abc&filter=abc&filter=abc&filter=abc'), ['filter: must have at most 3 items']);
    assert.match(String(await said('filter=abc&filter=x')), /at least 3 characters/);
  });

  it('takes parts of a millisecond: what is not before a time begins with the next whole one', () => {
    for (const field of [startField, untilField])
      for (const [text, moment] of [
        ['2026-01-01T00:00:00.0005Z', '2026-01-01T00:00:00.001Z'],
        ['2026-01-01T00:59:59.999000001+01:00', '2026-01-01T00:00:00.000Z'],
        ['2026-01-01T00:00:00.001000Z', '2026-01-01T00:00:00.001Z'],
        ['2026-01-01T00:00:00.1Z', '2026-01-01T00:00:00.100Z'],
        ['9999-12-31T23:59:59.9999Z', '9999-12-31T23:59:59.999Z'],
      ] as const)
        assert.equal(field.parse(text).toISOString(), moment, text);
  });
});
