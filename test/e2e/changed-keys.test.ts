import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freshDatabase } from '../support/auth-server.ts';
import { adminClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { runToExit, sharedStoreUrls, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

describe('a start on a database that was used with other keys', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let env: Record<string, string>;
  before(async () => {
    await sharedStores();
    database = await freshDatabase();
    // Each start makes keys in a DATA_DIR of its own.
    env = { ...sharedStoreUrls(), DATABASE_URL: database.url, JWT_PRIVATE_KEY: '', SECRETS_KEY: '' };
    await (await startService({ env })).stop();
  });
  after(() => database?.drop());

  it('fails with an error that names the key and ACCEPT_CHANGED_KEYS, and serves nothing', async () => {
    const { code, said } = await runToExit({ env });
    assert.equal(code, 1);
    const last = said.trim().split('\n').at(-1) ?? '';
    assert.match(
      last,
      /^survey-service cannot start: The key of access tokens \(JWT_PRIVATE_KEY, .*ACCEPT_CHANGED_KEYS/,
    );
  });

  it('fails before any task of the role jobs has begun', async () => {
    const secrets = await runToExit({ env: { ...env, ROLES: 'jobs' } });
    assert.match(secrets.said, /The key of secrets \(SECRETS_KEY, /);
    assert.doesNotMatch(secrets.said, /this process runs the periodic tasks/);
  });

  it('fails with an error that names the file of the key where that is cut off, and blames no store', async () => {
    const dataDir = temporaryDataDir();
    const file = join(dataDir, 'keys', 'access-tokens.pem');
    mkdirSync(join(dataDir, 'keys'));
    writeFileSync(file, '-----BEGIN PRIVATE KEY-----\nMC4CAQ');
    const { code, said } = await runToExit({ dataDir, env });
    rmSync(dataDir, { recursive: true, force: true });
    assert.deepEqual(
      [code, said],
      [
        1,
        `survey-service cannot start: The file ${file} must be a PEM private key (PKCS #8), a JWK or a JWK set: restore it from a backup, or move it away and start once with ACCEPT_CHANGED_KEYS=true, which makes a new key and ends every access token\n`,
      ],
    );
  });

  it('succeeds if the operator accepts the change, and prints notes on other settings without effect', async () => {
    const service = await startService({
      env: { ...env, ACCEPT_CHANGED_KEYS: 'true', ADMIN_PASSWORD: 'not the first one', RATE_LIMITS_API: '5' },
    });
    try {
      assert.match(service.printed(), /note +ADMIN_PASSWORD is not used/);
      assert.match(service.printed(), /note +RATE_LIMITS_API is no setting; did you mean RATE_LIMIT_API\?/);
      assert.ok(await adminClient(service));
    } finally {
      await service.stop();
    }
  });
});
