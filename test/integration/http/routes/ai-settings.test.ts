import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { aiSettingsRoutes } from '../../../../src/http/routes/ai-settings.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createSecrets } from '../../../../src/platform/secrets.ts';
import { createAiSettingsStore } from '../../../../src/stores/postgres/ai/settings.ts';
import { createSessionStore } from '../../../../src/stores/postgres/sessions.ts';
import { authenticateKnown, startLoopback } from '../../../support/loopback-server.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

describe('the address of an AI provider, where looking its name up takes long,', () => {
  let database: OwnedDatabase;
  let server: Awaited<ReturnType<typeof startLoopback>>;
  /** What happens during the look-up. */
  let meanwhile: () => Promise<unknown>;
  let sessionId: string;
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
      authenticate: async (given) => ({ ...(await authenticateKnown(given)), userId: database.ownerId, sessionId }),
    });
  });
  after(async () => {
    await server?.stop();
    await database?.drop();
  });

  /** Enters an address as an ADMIN with a session; gives the status and what is stored then. */
  const enter = async (during: () => Promise<unknown>): Promise<[number, string | undefined]> => {
    const { sql, ownerId: userId } = database;
    await sql`UPDATE users SET role = 'ADMIN'`;
    sessionId = newId();
    const tokenHash = randomBytes(32);
    await createSessionStore(sql).start({ id: sessionId, userId, passwordHash: '-', tokenHash, ttlSeconds: 600 });
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

  it('is saved otherwise', async () => {
    assert.deepEqual(await enter(async () => undefined), [200, 'this']);
  });
});
