import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createPostgres, type Sql, withPostgres } from '../../../../src/stores/postgres/client.ts';
import { retryOnDeadlock } from '../../../../src/stores/postgres/errors.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

const refusedAfterMs = 200;

describe('a call to PostgreSQL that was refused since it took too long', { concurrency: true }, () => {
  let database: OwnedDatabase;
  const ends: (() => unknown)[] = [];
  before(async () => {
    database = await ownedDatabase();
    await database.sql.unsafe(`
      CREATE TABLE marks (mark text);
      CREATE FUNCTION deadlock(lock text) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock(hashtext(lock)); RAISE EXCEPTION USING ERRCODE = '40P01'; END $$`);
  });
  after(async () => {
    for (const end of ends) await end();
    await database?.drop();
  });

  /** A pool of one connection, which is not opened yet. */
  function narrowPool(url = database.url): Sql {
    const sql = createPostgres(url, { log: createLog('error'), poolSize: 1 });
    ends.push(() => sql.end({ timeout: 2 }));
    return sql;
  }

  /** The same with its connection. */
  async function openPool(): Promise<Sql> {
    const sql = narrowPool();
    await sql`SELECT 1`;
    return sql;
  }

  const waitForLock = (db: Pick<Sql, 'unsafe'>, name: string) =>
    db.unsafe(`SELECT pg_advisory_xact_lock(hashtext('${name}'))`);

  /** Takes the step while somebody else holds the lock. */
  const whileLocked = (name: string, step: () => Promise<void>): Promise<unknown> =>
    database.sql.begin(async (tx) => {
      await waitForLock(tx, name);
      await step();
    });

  /** Takes the step while a transaction holds the connection of the pool. */
  const whileHeld = (sql: Sql, step: () => Promise<void>): Promise<unknown> =>
    sql.begin(async (tx) => {
      await tx`SELECT 1`;
      await step();
    });

  const assertRefused = (step: () => Promise<unknown>): Promise<void> =>
    assert.rejects(withPostgres(step, refusedAfterMs), {
      code: 'SERVICE_UNAVAILABLE',
      message: 'The control plane did not answer in time',
    });

  /** By the connection of the pool, so that what waited for it before is over. */
  async function assertNothingDone(sql: Sql, mark: string): Promise<void> {
    assert.equal((await sql`SELECT FROM marks WHERE mark = ${mark}`).count, 0);
  }

  it('does not send the statement that waits for a connection', async () => {
    const sql = await openPool();
    await whileHeld(sql, () => assertRefused(() => sql`INSERT INTO marks VALUES ('statement')`));
    await assertNothingDone(sql, 'statement');
  });

  it('does not begin the transaction that waits for a connection', async () => {
    const sql = await openPool();
    await whileHeld(sql, () => assertRefused(() => sql.begin((tx) => [tx`INSERT INTO marks VALUES ('transaction')`])));
    await assertNothingDone(sql, 'transaction');
  });

  it('does not send the statement that opens a connection', async () => {
    const { hostname, port } = new URL(database.url);
    let letThrough = (): void => undefined;
    const isLetThrough = new Promise<void>((resolve) => {
      letThrough = resolve;
    });
    const server = createServer(async (client) => {
      await isLetThrough;
      client.pipe(connect(Number(port), hostname)).pipe(client);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ends.push(() => server.close());
    const url = new URL(database.url);
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const sql = narrowPool(url.href);
    await assertRefused(() => sql`INSERT INTO marks VALUES ('first')`);
    letThrough();
    await assertNothingDone(sql, 'first');
  });

  it('does not carry out the statement whose parameters are described behind a slow one', async () => {
    const sql = await openPool();
    const mark = 'described';
    await whileLocked('slow statement', async () => {
      waitForLock(sql, 'slow statement').execute();
      await assertRefused(() => sql`INSERT INTO marks VALUES (${mark})`);
    });
    await assertNothingDone(sql, mark);
  });

  it('does not go on with the transaction that began behind a slow statement', async () => {
    const sql = await openPool();
    await whileLocked('slow neighbour', async () => {
      waitForLock(sql, 'slow neighbour').execute();
      await assertRefused(() => sql.begin((tx) => [tx`INSERT INTO marks VALUES ('late')`]));
    });
    await assertNothingDone(sql, 'late');
  });

  it('does not commit the transaction whose last statement is slow', async () => {
    const sql = await openPool();
    await whileLocked('slow end', () =>
      assertRefused(() =>
        sql.begin(async (tx) => {
          await tx`INSERT INTO marks VALUES ('uncommitted')`;
          await waitForLock(tx, 'slow end');
        }),
      ),
    );
    await assertNothingDone(sql, 'uncommitted');
  });

  it('is not tried again after a deadlock', async () => {
    const sql = await openPool();
    let tries = 0;
    const step = async () => {
      tries += 1;
      if (tries === 1) await sql`SELECT deadlock('deadlock')`;
      else await sql`INSERT INTO marks VALUES ('repeated')`;
    };
    let work: Promise<void> = Promise.resolve();
    await whileLocked('deadlock', () => assertRefused(() => (work = retryOnDeadlock(step))));
    await assert.rejects(work, { code: 'SERVICE_UNAVAILABLE' });
    await assertNothingDone(sql, 'repeated');
  });

  it('leaves its place to the next one, and the connection to whoever reserves it', async () => {
    const sql = await openPool();
    let next: Promise<unknown> = Promise.resolve();
    await whileHeld(sql, async () => {
      await assertRefused(() => sql`SELECT 1`);
      next = sql`INSERT INTO marks VALUES ('next')`.execute();
      await assertRefused(() => sql`SELECT 1`);
    });
    await next;
    await whileHeld(sql, () => assertRefused(() => sql`SELECT 1`));
    const reserved = await sql.reserve();
    assert.equal((await reserved`SELECT FROM marks WHERE mark = 'next'`).count, 1);
    reserved.release();
  });
});
