import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFirstAdmin, type FirstAdminDeps, type FirstAdminSettings } from '../../../src/auth/first-admin.ts';
import { createPasswords } from '../../../src/auth/passwords.ts';
import { unavailable } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createAudit } from '../../../src/stores/postgres/audit.ts';
import { createUserStore } from '../../../src/stores/postgres/users.ts';
import { freshDatabase, password } from '../../support/auth-server.ts';

describe('the first ADMIN', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(() => database.drop());
  const log = createLog('silent');
  const depsOf = (): FirstAdminDeps => ({
    users: createUserStore(database.sql),
    audit: createAudit(database.sql, log),
    passwords: createPasswords(),
    newId,
    log,
  });
  const start = (given: FirstAdminSettings) => createFirstAdmin(depsOf(), given).ensure();
  const together = async (given: FirstAdminSettings) =>
    (await Promise.all(Array.from({ length: 4 }, () => start(given)))).flatMap(
      ({ createdPassword }) => createdPassword ?? [],
    );
  const users = async () =>
    (await database.sql`SELECT role, email FROM users ORDER BY email`).map(({ role, email }) => `${role} ${email}`);
  const passwordHash = async () => (await database.sql`SELECT password_hash FROM users`)[0]?.['password_hash'];

  it('is created once by processes that start together, and its password is shown once', async () => {
    const told = await together({ email: 'admin@localhost' });
    assert.equal(told.length, 1);
    assert.ok((told[0]?.length ?? 0) >= 20);
    assert.deepEqual(await users(), ['ADMIN admin@localhost']);
    assert.deepEqual(await start({ email: 'other@localhost' }), {});
  });

  it('has to change a password that was printed, not one that was configured', async () => {
    const mustChange = async () =>
      (await database.sql`SELECT email, must_change_password FROM users ORDER BY email`).map((user) => ({ ...user }));
    await start({ email: 'admin@localhost' });
    await start({ email: 'second@localhost', password, resetWord: 'second' });
    assert.deepEqual(await mustChange(), [
      { email: 'admin@localhost', must_change_password: true },
      { email: 'second@localhost', must_change_password: false },
    ]);
    await start({ email: 'admin@localhost', password, resetWord: 'configured' });
    await start({ email: 'second@localhost', resetWord: 'printed' });
    assert.deepEqual(await mustChange(), [
      { email: 'admin@localhost', must_change_password: false },
      { email: 'second@localhost', must_change_password: true },
    ]);
  });

  it('gets a configured password without showing it, and a bad address is refused by the name of its setting', async () => {
    await assert.rejects(start({ email: 'nobody' }), /ADMIN_EMAIL/);
    assert.deepEqual(await start({ email: 'admin@localhost', password }), {});
  });

  it('comes with a note at a later start with another ADMIN_PASSWORD, and without one with the same', async () => {
    await start({ email: 'admin@localhost', password });
    assert.deepEqual(await start({ email: 'admin@localhost', password }), {});
    const { note } = await start({ email: 'admin@localhost', password: 'another password' });
    assert.match(note ?? '', /^ADMIN_PASSWORD is not used: .*ADMIN_RESET/);
  });

  it('is reset once for each word, by one of the processes that start together', async () => {
    await start({ email: 'admin@localhost', password });
    const told = await together({ email: 'admin@localhost', resetWord: 'true' });
    assert.equal(told.length, 1);
    const hash = await passwordHash();
    assert.ok((await createPasswords().check(told[0] ?? '', hash)).isMatch);
    assert.deepEqual(await start({ email: 'admin@localhost', resetWord: 'true' }), {});
    assert.equal(await passwordHash(), hash);
    assert.ok((await start({ email: 'admin@localhost', resetWord: 'again' })).createdPassword);
    assert.notEqual(await passwordHash(), hash);
  });

  /** The same for a process whose first change is committed, while the reply to the commit is lost. */
  async function startLosingReply(given: FirstAdminSettings) {
    const { users, ...deps } = depsOf();
    let isLost = false;
    const losingFirst = async <T>(change: Promise<T>): Promise<T> => {
      const reply = await change;
      if (isLost) return reply;
      isLost = true;
      throw unavailable('The control plane cannot be reached');
    };
    const losing = {
      ...users,
      createFirst: (...args: Parameters<typeof users.createFirst>) => losingFirst(users.createFirst(...args)),
      resetAdmin: (...args: Parameters<typeof users.resetAdmin>) => losingFirst(users.resetAdmin(...args)),
    };
    const admin = createFirstAdmin({ ...deps, users: losing }, given);
    await assert.rejects(admin.ensure(), { code: 'SERVICE_UNAVAILABLE' });
    return admin.ensure();
  }

  it('has the password that is shown where the reply to its creation or reset was lost', async () => {
    for (const resetWord of [undefined, 'true']) {
      const { createdPassword } = await startLosingReply({ email: 'admin@localhost', resetWord });
      assert.ok(createdPassword);
      assert.ok((await createPasswords().check(createdPassword, await passwordHash())).isMatch);
    }
    assert.deepEqual(await users(), ['ADMIN admin@localhost']);
    assert.equal((await database.sql`SELECT FROM audit WHERE action = 'user.changed'`).count, 1);
  });

  it('is created by a reset if no user has the address, once by processes that start together', async () => {
    await start({ email: 'admin@localhost', password });
    assert.equal((await together({ email: 'second@localhost', resetWord: 'true' })).length, 1);
    assert.deepEqual(await users(), ['ADMIN admin@localhost', 'ADMIN second@localhost']);
  });
});
