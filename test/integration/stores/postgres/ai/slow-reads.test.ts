import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../../src/platform/ids.ts';
import { createAiStore } from '../../../../../src/stores/postgres/ai/jobs.ts';
import { createBoundedConcurrency } from '../../../../../src/stores/postgres/bounded-concurrency.ts';
import { freshDatabase } from '../../../../support/auth-server.ts';
import { eventually } from '../../../../support/eventually.ts';

describe('reads of annotations for open requests', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  before(async () => {
    database = await freshDatabase();
  });
  after(() => database?.drop());

  it('use at most two connections, however many and slow they are', async () => {
    const { sql } = database;
    const { results } = createAiStore(sql);
    const scope = { surveyId: newId(), topic: 'themes/test' };
    let reads: Promise<unknown>[] = [];
    await sql.begin(async (tx) => {
      await tx`LOCK TABLE ai_findings IN ACCESS EXCLUSIVE MODE`;
      reads = Array.from({ length: 24 }, (_, n) => (n % 2 ? results.themes(scope, 10) : results.sentiments(scope)));
      const held = async () =>
        (
          await sql<
            { count: number }[]
          >`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
        )[0]?.count ?? 0;
      await eventually(async () => assert.ok((await held()) >= 2), 30_000, 5);
      // Others have the pool's other connections.
      assert.deepEqual(
        (await Promise.all(Array.from({ length: 7 }, () => sql`SELECT 1 AS one`))).map(([row]) => row?.['one']),
        Array.from({ length: 7 }, () => 1),
      );
      assert.equal(await held(), 2);
    });
    assert.ok((await Promise.all(reads)).every((found) => Array.isArray(found) && found.length === 0));
  });

  it('end with SERVICE_UNAVAILABLE when they take too long, also those that wait for them', async () => {
    const run = createBoundedConcurrency(database.sql, { maxConcurrent: 1, timeoutMs: 200 });
    const slow = Array.from({ length: 3 }, () => run((tx) => tx`SELECT pg_sleep(5)`));
    for (const read of slow) await assert.rejects(read, { code: 'SERVICE_UNAVAILABLE' });
    // A read that waits for nothing has the same 200 ms, which a busy machine may let pass.
    await eventually(async () => assert.equal((await run((tx) => tx`SELECT 1`)).length, 1));
  });
});
