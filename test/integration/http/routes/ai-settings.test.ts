import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { aiSettingsRoutes } from '../../../../src/http/routes/ai-settings.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createSecrets } from '../../../../src/platform/secrets.ts';
import { createAiSettingsStore } from '../../../../src/stores/postgres/ai/settings.ts';
import { createApiKeyStore } from '../../../../src/stores/postgres/api-keys.ts';
import { createSessionStore } from '../../../../src/stores/postgres/sessions.ts';
import { authenticateKnown, startLoopback } from '../../../support/loopback-server.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

describe('the address of an AI provider, where looking its name up takes long,', () => {
  let database: OwnedDatabase;
  let server: Awaited<ReturnType<typeof startLoopback>>;
  /** What happens during the look-up. */
  let meanwhile: () => Promise<unknown>;
  let sessionId: string;
  /** Set for a program, which has no session. */
  let keyId: string | null;
  before(async () => {
    database = await ownedDatabase();
    const api = aiSettingsRoutes({
      settingsStore: createAiSettingsStore(database.sql),
      secrets: createSecrets('a master key for tests'),
      guard: {
        check: async () => {
          await meanwhile();
          return undefined;
        },
      },
      find: async () => undefined,
      fromEnvironment: () => ({}),
      providers: { pick: () => assert.fail('no provider is called') },
    });
    server = await startLoopback({
      api,
      authenticate: async (given) => ({
        ...(await authenticateKnown(given)),
        userId: database.ownerId,
        sessionId: keyId === null ? sessionId : null,
        keyId,
      }),
    });
  });
  after(async () => {
    await server?.stop();
    await database?.drop();
  });

  /** Enters an address as an ADMIN with a session or an API key; gives the status and what is stored then. */
  const enter = async (
    during: () => Promise<unknown>,
    by: 'session' | 'key' = 'session',
  ): Promise<[number, string | undefined]> => {
    const { sql, ownerId: userId } = database;
    await sql`UPDATE users SET role = 'ADMIN'`;
    sessionId = newId();
    const tokenHash = randomBytes(32);
    await createSessionStore(sql).start({ id: sessionId, userId, passwordHash: '-', tokenHash, ttlSeconds: 600 });
    keyId = by === 'key' ? newId() : null;
    if (keyId !== null)
      await createApiKeyStore(sql).create(
        {
          id: keyId,
          userId,
          sessionId,
          name: 'deploys',
          role: 'ADMIN',
          keyHash: randomBytes(32),
          lastFour: '0000',
          requestsPerMinute: null,
          expiresAt: null,
        },
        100,
      );
    meanwhile = during;
    const endpoint = `https://${newId()}.example.org/`;
    const reply = await fetch(`${server.origin}/api/v1/ai/settings/openai`, {
      method: 'PUT',
      headers: { authorization: 'Bearer admin', 'content-type': 'application/json' },
      body: JSON.stringify({ apiKey: 'key-of-these-tests', endpoint }),
    });
    await reply.body?.cancel();
    const stored = await createAiSettingsStore(sql).find('openai');
    return [reply.status, stored && (stored.endpoint === endpoint ? 'this' : 'another')];
  };

  it('is not saved for who is no ADMIN any more, nor after the session', async () => {
    const demote = () => database.sql`UPDATE users SET role = 'EDITOR'`;
    assert.deepEqual(await enter(async () => demote()), [403, undefined]);
    const end = () => createSessionStore(database.sql).end(sessionId, 'signed out');
    assert.deepEqual(await enter(end), [401, undefined]);
  });

  it('is not saved for an API key that was deleted or has expired meanwhile', async () => {
    const remove = () => createApiKeyStore(database.sql).remove(keyId ?? '', null);
    assert.deepEqual(await enter(remove, 'key'), [401, undefined]);
    const expire = async () => database.sql`UPDATE api_keys SET expires_at = now() WHERE id = ${keyId}`;
    assert.deepEqual(await enter(expire, 'key'), [401, undefined]);
  });

  it('is saved otherwise', async () => {
    assert.deepEqual(await enter(async () => undefined), [200, 'this']);
    assert.deepEqual(await enter(async () => undefined, 'key'), [200, 'this']);
  });
});
