import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createInstallationKeys } from '../../../../src/stores/postgres/installation-keys.ts';
import { freshDatabase } from '../../../support/auth-server.ts';

describe('the keys of an installation', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  before(async () => {
    database = await freshDatabase();
  });
  after(() => database?.drop());

  const start = (...fingerprints: string[]) =>
    createInstallationKeys(database.sql).register('access tokens', fingerprints, { isReplacing: false });

  it('may be changed one by one, and a key that was removed starts no process any more', async () => {
    for (const keys of [['old'], ['old', 'new'], ['old'], ['new', 'old'], ['old'], ['new']])
      assert.ok(await start(...keys), keys.join());
    assert.equal(await start('old'), false);
    assert.ok(await start('new', 'newest'));
    assert.ok(await start('new'));
    assert.ok(await start('newest'));
    assert.equal(await start('new'), false);
  });

  it('are replaced where that is accepted', async () => {
    const replaced = await createInstallationKeys(database.sql).register('access tokens', ['other'], {
      isReplacing: true,
    });
    assert.deepEqual([replaced, await start('newest'), await start('other')], [true, false, true]);
  });
});
