import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freshDatabase } from '../support/auth-server.ts';
import { type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, runToExit, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

describe('accounts, sessions and keys at the start and after a restart', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let env: Record<string, string>;
  let service: RunningService;
  let dataDir: string;
  let admin: Client;
  let madePassword: string;

  const start = () => startService({ env, dataDir });
  const signIn = async (email: string, password: string) => {
    const { accessToken } = await createClient(service).post('/auth/login', { email, password });
    return { accessToken, client: createClient(service, accessToken) };
  };
  const addPerson = async (name: string, role: string) => {
    const user = await admin.create('/users', { email: `${name}@example.org`, password: `password of ${name}`, role });
    return { user, ...(await signIn(user.email, `password of ${name}`)) };
  };

  before(async () => {
    const stores = await sharedStores();
    database = await freshDatabase();
    dataDir = mkdtempSync(join(tmpdir(), 'people-e2e-'));
    chmodSync(dataDir, 0o711);
    env = {
      REDIS_URL: stores.redisUrl,
      REDIS_JOBS_URL: stores.redisJobsUrl,
      CLICKHOUSE_URL: stores.clickhouseUrl,
      DATABASE_URL: database.url,
      ADMIN_EMAIL: 'first@localhost',
      ADMIN_PASSWORD: '',
    };
    service = await start();
    madePassword = /first@localhost\s+password: (\S+)/.exec(service.printed())?.[1] ?? '';
    admin = (await signIn('first@localhost', madePassword)).client;
  });
  after(async () => {
    await service?.stop();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('the first ADMIN gets a generated password that is printed and never logged', async () => {
    assert.ok(madePassword.length >= 20);
    assert.equal((await admin.get('/auth/me')).role, 'ADMIN');
    assert.ok(!service.logs().includes(madePassword));
  });

  it('members see the surveys that are shared with them, and nothing of others', async () => {
    const [author, editor, reader, stranger] = [
      await addPerson('author', 'EDITOR'),
      await addPerson('editor', 'EDITOR'),
      await addPerson('reader', 'VIEWER'),
      await addPerson('stranger', 'EDITOR'),
    ];
    assert.equal((await reader.client.call('POST', '/surveys', { body: { title: 'mine' } })).status, 403);
    const survey = await author.client.create('/surveys', { title: 'Shared' });
    for (const field of ['ownerId', 'id', 'version', 'createdAt'])
      assert.equal(
        (await author.client.call('PUT', `/surveys/${survey.id}`, { body: { [field]: stranger.user.id } })).status,
        400,
        field,
      );
    await author.client.put(`/surveys/${survey.id}/members/${editor.user.id}`, { role: 'EDITOR' });
    await author.client.put(`/surveys/${survey.id}/members/${reader.user.id}`, { role: 'VIEWER' });
    const titles = async (client: Client) => (await client.get('/surveys')).map((item: any) => item.title);
    assert.deepEqual(
      [
        await titles(author.client),
        await titles(editor.client),
        await titles(reader.client),
        await titles(stranger.client),
      ],
      [['Shared'], ['Shared'], ['Shared'], []],
    );
    const rename = async (client: Client) =>
      (await client.call('PUT', `/surveys/${survey.id}`, { body: { title: 'Shared' } })).status;
    assert.deepEqual(
      [
        await rename(author.client),
        await rename(editor.client),
        await rename(reader.client),
        await rename(stranger.client),
      ],
      [200, 200, 403, 404],
    );
    assert.equal((await editor.client.call('DELETE', `/surveys/${survey.id}`)).status, 403);
    await admin.remove(`/users/${author.user.id}`);
    assert.equal((await admin.get(`/surveys/${survey.id}`)).ownerId, (await admin.get('/auth/me')).id);
    assert.equal((await author.client.call('GET', '/surveys')).status, 401);
    assert.deepEqual(await titles(reader.client), ['Shared']);
  });

  it('sessions survive a restart, and only the owner of DATA_DIR can read the signing key', async () => {
    const { accessToken } = await addPerson('lasting', 'EDITOR');
    const keys = join(dataDir, 'keys');
    for (const name of readdirSync(keys)) assert.equal(statSync(join(keys, name)).mode & 0o077, 0, name);
    assert.match(readFileSync(join(keys, 'access-tokens.pem'), 'utf8'), /BEGIN PRIVATE KEY/);
    assert.equal(await service.stop(), 0);
    service = await start();
    assert.ok(!service.printed().includes('password:'), 'a second start makes no ADMIN');
    assert.equal((await createClient(service, accessToken).get('/auth/me')).email, 'lasting@example.org');
  });

  it('sessions that ended more than a week ago are removed at the start', async () => {
    admin = (await signIn('first@localhost', madePassword)).client;
    const { user } = await addPerson('gone', 'EDITOR');
    const sessions = async () => (await database.sql`SELECT id FROM sessions WHERE user_id = ${user.id}`).length;
    await database.sql`UPDATE sessions SET ended_at = now() - interval '6 days' WHERE user_id = ${user.id}`;
    await signIn(user.email, 'password of gone');
    await database.sql`UPDATE sessions SET ended_at = now() - interval '8 days' WHERE user_id = ${user.id} AND ended_at IS NULL`;
    assert.equal(await sessions(), 2);
    assert.equal(await service.stop(), 0);
    service = await start();
    await eventually(async () => assert.equal(await sessions(), 1), 30_000);
  });

  it('an invalid JWT_PRIVATE_KEY fails the start, which names the setting and does not quote it', async () => {
    const bad = await runToExit({ env: { ...env, JWT_PRIVATE_KEY: 'sesame' }, dataDir });
    assert.equal(bad.code, 1);
    assert.equal(
      bad.said,
      'survey-service cannot start: Bad setting. JWT_PRIVATE_KEY: must be a PEM private key (PKCS #8), a JWK or a JWK set\n',
    );
    // Before any store is asked for: there is none at this address.
    const early = await runToExit({
      env: { ...env, REDIS_URL: 'redis://127.0.0.1:1', JWT_PRIVATE_KEY: '{"kty":"sesame"}' },
      dataDir,
    });
    assert.equal(
      early.said,
      'survey-service cannot start: Bad setting. JWT_PRIVATE_KEY: holds a key that cannot be read\n',
    );
  });

  it('an invalid ADMIN_EMAIL fails the start, even if there is an ADMIN', async () => {
    const bad = await runToExit({ env: { ...env, ADMIN_EMAIL: 'foo' }, dataDir });
    assert.deepEqual(
      [bad.code, bad.said],
      [1, 'survey-service cannot start: Bad setting. ADMIN_EMAIL: must be an e-mail address\n'],
    );
  });
});
