import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../../src/log.ts';
import { startSchedule } from '../../../src/pipelines/schedule.ts';
import { createLeader } from '../../../src/stores/postgres/leader.ts';
import { freshDatabase } from '../../support/auth-server.ts';
import { eventually } from '../../support/eventually.ts';
import { assertWithin } from '../../support/time-bars.ts';

const log = createLog('silent');

/** A lease of nine seconds is looked at every three. */
async function takesOver(hasHappened: () => boolean): Promise<void> {
  const begunAt = performance.now();
  await eventually(() => assert.ok(hasHappened()));
  assertWithin(5000, performance.now() - begunAt, 'the takeover');
}

describe('periodic tasks of several processes', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  before(async () => {
    database = await freshDatabase();
  });
  after(() => database?.drop());

  /** A jobs process; what it runs is noted. */
  const startProcess = (holder: string, runs: string[], leaseMs: number) => {
    const leader = createLeader({ sql: database.sql, name: 'tasks', holder, log, leaseMs });
    const task = (name: string, isOfEachProcess = false) => ({
      name,
      everyMs: 100,
      isOfEachProcess,
      run: async () => void runs.push(`${holder} ${name}`),
    });
    const schedule = startSchedule([task('task'), task('measure', true)], { log, leader });
    return { leader, schedule };
  };

  it('are run by one of them, and by another when it stops', async () => {
    const runs: string[] = [];
    // A busy machine must not make the leader miss its lease: then another one would take over for that reason.
    const processes = ['one', 'two', 'three'].map((holder) => ({ holder, ...startProcess(holder, runs, 9000) }));
    const leaders = () => processes.filter(({ leader }) => leader.isLeader()).map(({ holder }) => holder);
    await eventually(() => assert.equal(leaders().length, 1));
    const [first] = leaders();
    const ran = (name: string) => [
      ...new Set(runs.filter((run) => run.endsWith(name)).map((run) => run.split(' ')[0])),
    ];
    await eventually(() => {
      assert.ok(runs.filter((run) => run === `${first} task`).length >= 10);
      assert.deepEqual(ran('measure').sort(), ['one', 'three', 'two']);
    });
    assert.deepEqual(ran('task'), [first]);
    await processes.find(({ holder }) => holder === first)?.schedule.stop();
    const left = await database.sql`SELECT FROM leaders WHERE holder = ${first ?? ''}`;
    assert.equal(left.length, 0, 'another need not wait for the lease to end');
    await takesOver(() => leaders().length === 1 && leaders()[0] !== first);
    runs.length = 0;
    await eventually(() => assert.deepEqual(ran('task'), leaders()));
    await Promise.all(processes.map(({ schedule }) => schedule.stop()));
  });

  it('are taken over from one that died, also when the clock of PostgreSQL was set back an hour', async () => {
    for (const until of [`now() + interval '1 second'`, `now() + interval '1 hour'`]) {
      await database.sql.unsafe(
        `INSERT INTO leaders VALUES ('tasks', 'dead', ${until})
         ON CONFLICT (name) DO UPDATE SET holder = 'dead', held_until = excluded.held_until`,
      );
      const { leader, schedule } = startProcess('heir', [], 900);
      await takesOver(() => leader.isLeader());
      await schedule.stop();
    }
  });
});
