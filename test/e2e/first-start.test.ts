import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { freshDatabase } from '../support/auth-server.ts';
import { createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, runToExit, sharedStoreUrls, startService } from '../support/service.ts';
import { quietPort } from '../support/switchable-proxy.ts';

const nobodyYet = { ADMIN_PASSWORD: '', ADMIN_EMAIL: 'first@example.org' };

describe('the first ADMIN of an installation', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  before(async () => {
    database = await freshDatabase();
  });
  after(() => database.drop());

  /** Starts for so long as `use` takes. */
  const during = async <T>(env: Record<string, string>, use: (service: RunningService) => Promise<T>): Promise<T> => {
    const service = await startService({ env: { DATABASE_URL: database.url, ...env } });
    return use(service).finally(() => service.stop());
  };
  const printedPassword = ({ printed }: RunningService) =>
    /first ADMIN {3}first@example\.org {2}password: (\S+) /.exec(printed())?.[1];
  const signIn = (service: RunningService, password: string) =>
    createClient(service).call('POST', '/auth/login', { body: { email: 'first@example.org', password } });

  it('is printed with its password by the start that succeeds, although an earlier one found its port taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    const port = (
      await new Promise<AddressInfo>((resolve) =>
        other.once('listening', () => resolve(other.address() as AddressInfo)),
      )
    ).port;
    const { code, said } = await runToExit({
      env: { ...sharedStoreUrls(), ...nobodyYet, DATABASE_URL: database.url, PORT: String(port) },
    }).finally(() => other.close());
    assert.equal(code, 1);
    assert.match(said, /cannot listen on/);
    await during(nobodyYet, async (service) => {
      assert.equal((await signIn(service, printedPassword(service) ?? '')).status, 200, service.printed());
    });
  });

  it('can sign in as soon as the service replies', async () => {
    const fresh = await freshDatabase();
    const port = await quietPort();
    const starting = startService({
      env: { ...nobodyYet, DATABASE_URL: fresh.url, ADMIN_PASSWORD: 'known before', PORT: String(port) },
    });
    const body = JSON.stringify({ email: 'first@example.org', password: 'known before' });
    const first = await eventually(
      () =>
        fetch(`http://127.0.0.1:${port}/api/v1/auth/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        }),
      60_000,
      2,
    ).finally(async () => {
      await (await starting).stop();
      await fresh.drop();
    });
    assert.equal(first.status, 200);
  });

  it('is not created or printed again by later starts', async () => {
    await during({ ...nobodyYet, ADMIN_PASSWORD: 'another good password' }, async (service) => {
      assert.equal(printedPassword(service), undefined);
      assert.equal((await signIn(service, 'another good password')).status, 401);
    });
  });

  it('is given a new password by ADMIN_RESET, once and not by later starts, which ends the sessions and stands in the audit', async () => {
    const password = 'a password that is remembered';
    await database.sql`UPDATE users SET role = 'VIEWER', is_disabled = true`;
    await during({ ...nobodyYet, ADMIN_PASSWORD: password, ADMIN_RESET: 'true' }, async (service) => {
      const { status, body } = await signIn(service, password);
      assert.deepEqual([status, body.data?.user.role], [200, 'ADMIN']);
      const audit = await createClient(service, body.data.accessToken).get('/audit?action=user.changed');
      assert.deepEqual(audit[0].details, { by: 'ADMIN_RESET' });
      assert.match(service.logs(), /ADMIN_RESET has given/);
      await createClient(service, body.data.accessToken).post('/auth/password', {
        currentPassword: password,
        newPassword: 'one that nobody has seen',
      });
    });
    // As a container keeps it over its restarts.
    await during({ ...nobodyYet, ADMIN_PASSWORD: password, ADMIN_RESET: 'true' }, async (service) => {
      assert.deepEqual(
        [(await signIn(service, password)).status, (await signIn(service, 'one that nobody has seen')).status],
        [401, 200],
      );
      assert.match(service.logs(), /ADMIN_RESET was used before/);
    });
    await during({ ...nobodyYet, ADMIN_EMAIL: 'second@example.org', ADMIN_RESET: 'true' }, async ({ printed }) => {
      assert.match(printed(), /first ADMIN {3}second@example\.org {2}password: \S+ /);
    });
    assert.deepEqual(
      (await database.sql`SELECT email, role FROM users ORDER BY email`).map(({ email, role }) => `${email} ${role}`),
      ['first@example.org ADMIN', 'second@example.org ADMIN'],
    );
  });
});
