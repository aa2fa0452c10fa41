import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../../../src/log.ts';
import { createPostgres, type Sql } from '../../../../src/stores/postgres/client.ts';
import { isPostgresUnavailable } from '../../../../src/stores/postgres/errors.ts';
import { eventually } from '../../../support/eventually.ts';
import { type FreezingProxy, startFreezingProxy } from '../../../support/freezing-proxy.ts';
import { sharedStores } from '../../../support/stores.ts';

/** A pool waits for a second at most before it tries the server again that has refused it five times. */
const [refusals, longestPauseMs] = [5, 1500];
/** In this time a connection that was asked for before is taken by the proxy. */
const settledMs = 300;
/** A connection that is left half open ends by itself when the five seconds for connecting are over. */
const closedWithinMs = 4000;

const outcomeOf = (sql: Sql): Promise<string> =>
  sql`SELECT 1`.then(
    () => 'done',
    (error: unknown) => (isPostgresUnavailable(error) ? 'away' : String(error)),
  );

describe('a pool of PostgreSQL that is ended while it opens a connection', () => {
  async function withPool(use: (sql: Sql, proxy: FreezingProxy) => Promise<void>): Promise<void> {
    const proxy = await startFreezingProxy((await sharedStores()).databaseUrl);
    try {
      await use(createPostgres(proxy.url, { log: createLog('silent'), poolSize: 2 }), proxy);
    } finally {
      await proxy.stop();
    }
  }

  const moments: Readonly<Record<string, () => Promise<unknown>>> = {
    'at once': async () => undefined,
    'when its socket is made': () => nextTurn(),
    'when it connects': () => sleep(1),
    'when it signs in': () => sleep(3),
  };
  for (const [moment, reached] of Object.entries(moments))
    it(`${moment} settles its query and leaves no connection open`, () =>
      withPool(async (sql, proxy) => {
        const outcome = outcomeOf(sql);
        await reached();
        await sql.end({ timeout: 0 });
        assert.match(await outcome, /^(done|away)$/);
        await sleep(settledMs);
        await eventually(() => assert.equal(proxy.open(), 0), closedWithinMs);
      }));

  it('opens none when its pause after a refusal is over', () =>
    withPool(async (sql, proxy) => {
      await proxy.refuse();
      for (let refused = 0; refused < refusals; refused += 1) assert.equal(await outcomeOf(sql), 'away');
      await proxy.serve();
      const outcome = outcomeOf(sql);
      await nextTurn();
      await sql.end({ timeout: 0 });
      assert.equal(await outcome, 'away');
      await sleep(longestPauseMs);
      assert.equal(proxy.open(), 0);
    }));
});
