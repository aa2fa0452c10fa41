import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { hashOpaqueToken, makeOpaqueToken } from '../../../../src/auth/opaque-tokens.ts';
import { createAuthenticator } from '../../../../src/http/routing/authenticator.ts';
import { ok, route } from '../../../../src/http/routing/route.ts';
import { createLog } from '../../../../src/log.ts';
import type { ActiveApiKey } from '../../../../src/stores/postgres/api-keys.ts';
import { startLoopback } from '../../../support/loopback-server.ts';

const limit = 3;
const whoami = route({
  method: 'GET',
  path: '/me',
  operationId: 'me',
  tag: 'Service',
  summary: 'Who calls',
  access: { kind: 'user' },
  ignoresQuery: true,
  limit: 'api',
  reply: z.object({}),
  replyStatus: 200,
  handle: async () => ok({}),
});

describe('made-up API keys', () => {
  const [known, fresh] = [makeOpaqueToken('apiKey'), makeOpaqueToken('apiKey')];
  const active = { keyId: 'key', userId: 'user', email: 'a@example.org', userRole: 'EDITOR', keyRole: 'EDITOR' };
  let lookups = 0;
  const authenticator = createAuthenticator({
    accessTokens: { read: async () => undefined },
    sessions: { findActive: async () => undefined },
    apiKeys: {
      findActiveByHash: async (hash) => {
        lookups += 1;
        const isLive = [known, fresh].some((key) => hashOpaqueToken(key).equals(hash));
        return isLive
          ? ({ ...active, requestsPerMinute: 1000, userRequestsPerMinute: 1000 } as ActiveApiKey)
          : undefined;
      },
      findActiveById: async () => undefined,
      markUsed: async () => undefined,
    },
    keyRequestsPerMinute: 1000,
    log: createLog('silent'),
  });
  let server: Awaited<ReturnType<typeof startLoopback>>;
  before(async () => {
    const { authenticate } = authenticator;
    server = await startLoopback({ api: [whoami], trustedProxies: ['127.0.0.1'], limit, authenticate });
  });
  after(() => server.stop());

  const call = async (key: string, address: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': address };
    return (await fetch(`${server.origin}/api/v1/me`, { headers })).status;
  };

  it('cost no look-up once their address is over its limit, where a key that was found before still works', async () => {
    const address = '203.0.113.11';
    assert.equal(await call(known, '203.0.113.12'), 200);
    lookups = 0;
    const statuses: number[] = [];
    for (let guess = 0; guess < 20; guess += 1) statuses.push(await call(makeOpaqueToken('apiKey'), address));
    assert.deepEqual(statuses, [401, 401, 401, ...Array.from({ length: 17 }, () => 429)]);
    assert.equal(lookups, limit + 1);
    authenticator.clearCache();
    assert.deepEqual([await call(known, address), lookups], [200, limit + 2]);
    assert.deepEqual([await call(fresh, address), await call(fresh, '203.0.113.12')], [429, 200]);
  });
});
