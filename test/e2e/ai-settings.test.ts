import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AiProviderServer, standInKey, startAiProvider } from '../support/ai-provider.ts';
import { freshDatabase } from '../support/auth-server.ts';
import { adminClient, type Client } from '../support/client.ts';
import { signInNewUser } from '../support/new-user.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

describe('settings of AI providers', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let service: RunningService;
  let ai: AiProviderServer;
  let admin: Client;
  const start = async (env: Record<string, string>) => {
    service = await startService({
      env: { DATABASE_URL: database.url, SECRETS_KEY: 'a secret for this test only', ...env },
    });
    admin = await adminClient(service);
  };

  before(async () => {
    await sharedStores();
    database = await freshDatabase();
    ai = await startAiProvider();
    await start({ WEBHOOK_ALLOW_PRIVATE: 'true' });
  });
  after(async () => {
    await service?.stop();
    await ai?.close();
    await database?.drop();
  });

  it('settings are saved, tested, shown with the last four characters of the key, and deleted', async () => {
    assert.equal((await admin.call('POST', '/ai/settings/openai/test')).body.code, 'AI_NOT_CONFIGURED');
    const saved = await admin.put('/ai/settings/openai', {
      apiKey: standInKey,
      endpoint: `${ai.url}/v1`,
      models: { low: 'small-1' },
    });
    assert.deepEqual(saved, {
      provider: 'openai',
      isConfigured: true,
      source: 'settings',
      keyLastFour: '0001',
      endpoint: `${ai.url}/v1`,
      deployment: null,
      models: { high: 'gpt-5.6-terra', low: 'small-1' },
      entered: { endpoint: `${ai.url}/v1`, deployment: null, models: { high: null, low: 'small-1' } },
    });
    const tested = await admin.post('/ai/settings/openai/test');
    assert.deepEqual([tested.ok, tested.model, typeof tested.latencyMs], [true, 'small-1', 'number']);
    assert.deepEqual(
      (await admin.get('/ai/settings')).map(({ provider, isConfigured }: any) => [provider, isConfigured]),
      [
        ['openai', true],
        ['anthropic', false],
        ['gemini', false],
        ['azure', false],
      ],
    );
    assert.deepEqual(await admin.remove('/ai/settings/openai'), { id: 'openai', deleted: true });
    assert.equal((await admin.get('/ai/settings'))[0].isConfigured, false);
    assert.equal((await admin.call('DELETE', '/ai/settings/openai')).status, 404);
    assert.ok(!service.logs().includes(standInKey));
    const audit = await admin.get('/audit?objectKind=ai-provider');
    assert.deepEqual(
      audit.map(({ action }: any) => action),
      ['ai-provider.removed', 'ai-provider.changed'],
    );
    assert.ok(!JSON.stringify(audit).includes(standInKey));
  });

  it('the test of settings counts among the calls of the ADMIN who makes it', async () => {
    await admin.put('/ai/settings/openai', { apiKey: standInKey, endpoint: `${ai.url}/v1` });
    const { id } = await admin.get('/auth/me');
    const mine = async () => (await admin.get(`/ai/usage?userId=${id}`)).calls;
    const before = await mine();
    await admin.post('/ai/settings/openai/test');
    assert.equal(await mine(), before + 1);
    await admin.remove('/ai/settings/openai');
  });

  it('the test of settings distinguishes a refused key from an unreachable provider', async () => {
    await admin.put('/ai/settings/gemini', { apiKey: 'wrong-key-0001', endpoint: `${ai.url}/v1beta/openai/` });
    assert.equal((await admin.call('POST', '/ai/settings/gemini/test')).body.code, 'AI_KEY_INVALID');
    await admin.put('/ai/settings/gemini', { apiKey: standInKey, endpoint: 'http://127.0.0.1:1/' });
    assert.equal((await admin.call('POST', '/ai/settings/gemini/test')).body.code, 'AI_PROVIDER_ERROR');
    await admin.remove('/ai/settings/gemini');
  });

  it('after a change of the master key, settings must be entered again, and all else works', async () => {
    await admin.put('/ai/settings/gemini', { apiKey: standInKey, endpoint: `${ai.url}/v1beta/openai/` });
    await database.sql`UPDATE ai_settings SET key_sealed = ${Buffer.alloc(60, 1)} WHERE provider = 'gemini'`;
    const reply = await admin.call('POST', '/ai/settings/gemini/test');
    assert.deepEqual([reply.status, reply.body.code], [502, 'AI_KEY_INVALID']);
    assert.equal(
      (await admin.get('/ai/settings')).find(({ provider }: any) => provider === 'gemini').isConfigured,
      false,
    );
    assert.equal(
      (await admin.put('/ai/settings/gemini', { apiKey: standInKey, endpoint: `${ai.url}/v1beta/openai/` }))
        .isConfigured,
      true,
    );
    await admin.remove('/ai/settings/gemini');
  });

  it('only an ADMIN may read or change settings', async () => {
    const editor = await signInNewUser(service, admin);
    for (const [method, path] of [
      ['GET', '/ai/settings'],
      ['POST', '/ai/settings/openai/test'],
      ['DELETE', '/ai/settings/openai'],
    ] as const)
      assert.equal((await editor.call(method, path)).status, 403, path);
    assert.equal((await editor.call('PUT', '/ai/settings/openai', { body: { apiKey: standInKey } })).status, 403);
    assert.equal((await editor.call('GET', '/ai/settings', { token: undefined })).status, 401);
  });

  it('missing settings come from the environment, which may name internal addresses', async () => {
    await service.stop();
    await start({
      OPENAI_BASE_URL: `${ai.url}/v1`,
      OPENAI_MODEL_LOW: 'low-1',
      AZURE_OPENAI_ENDPOINT: ai.url,
      AZURE_OPENAI_DEPLOYMENT: 'dep1',
    });
    assert.deepEqual(
      (await admin.get('/ai/settings')).filter(({ isConfigured }: any) => isConfigured),
      [],
    );
    const saved = await admin.put('/ai/settings/openai', { apiKey: standInKey, models: { high: 'high-1' } });
    assert.deepEqual(
      [saved.source, saved.endpoint, saved.models],
      ['settings', `${ai.url}/v1`, { high: 'high-1', low: 'low-1' }],
    );
    assert.deepEqual(saved.entered, { endpoint: null, deployment: null, models: { high: 'high-1', low: null } });
    assert.equal((await admin.post('/ai/settings/openai/test')).model, 'low-1');
    assert.equal((await admin.put('/ai/settings/azure', { apiKey: standInKey })).deployment, 'dep1');
    assert.equal((await admin.post('/ai/settings/azure/test')).ok, true);
    for (const provider of ['openai', 'azure']) await admin.remove(`/ai/settings/${provider}`);
  });

  it('a deployment that a former version stored for another provider is no model of it', async () => {
    const { models } = await admin.put('/ai/settings/openai', { apiKey: standInKey });
    await database.sql`UPDATE ai_settings SET deployment = 'dep1' WHERE provider = 'openai'`;
    const [found] = (await admin.get('/ai/settings')).filter(({ provider }: any) => provider === 'openai');
    assert.deepEqual([found.deployment, found.entered.deployment, found.models], [null, null, models]);
    await admin.remove('/ai/settings/openai');
  });

  it('settings without an endpoint, with internal addresses, a key of an impossible form or a deployment elsewhere are refused', async () => {
    await service.stop();
    await start({});
    const put = async (provider: string, body: unknown) => {
      const reply = await admin.call('PUT', `/ai/settings/${provider}`, { body });
      return [reply.status, reply.body.details?.[0]?.path];
    };
    assert.deepEqual(await put('anthropic', { apiKey: 'sk-0123456789abcdefghij' }), [200, undefined]);
    assert.equal((await admin.call('POST', '/ai/settings/anthropic/test')).body.code, 'AI_KEY_INVALID');
    await admin.remove('/ai/settings/anthropic');
    assert.deepEqual(await put('openai', { apiKey: 'sk-0123456789\nabcdefghij' }), [400, 'apiKey']);
    assert.deepEqual(await put('azure', { apiKey: '0123456789abcdef0123456789abcdef' }), [400, 'endpoint']);
    assert.deepEqual(await put('acme', { apiKey: '0123456789abcdef' }), [404, undefined]);
    for (const endpoint of [
      'http://127.0.0.1:8080/',
      'http://169.254.169.254/latest',
      'http://[::1]/',
      'http://localhost/',
      'ftp://example.org/',
      'http://user:pass@example.org/',
    ])
      assert.deepEqual(await put('openai', { apiKey: standInKey, endpoint }), [400, 'endpoint'], endpoint);
    for (const provider of ['openai', 'anthropic', 'gemini'])
      assert.deepEqual(
        await put(provider, { apiKey: standInKey, deployment: 'dep1' }),
        [400, 'deployment'],
        'only azure has deployments',
      );
  });
});
