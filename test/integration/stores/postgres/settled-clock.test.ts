import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createSettledClock } from '../../../../src/stores/postgres/settled-clock.ts';
import { freshDatabase } from '../../../support/auth-server.ts';

const [hourMs, dayMs] = [3_600_000, 86_400_000];
const begunMs = Date.parse('2026-03-01T12:00:00Z');

describe('the time by which responses are too old', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  before(async () => {
    database = await freshDatabase();
  });
  after(() => database?.drop());
  beforeEach(() => database.sql`DELETE FROM settled_clock`);

  /** A jobs process, whose clock was set ahead by so much before it began. */
  const startProcess = (aheadMs = 0) => {
    let [setMs, passedMs] = [aheadMs, 0];
    const warnings: string[] = [];
    const ask = createSettledClock({
      sql: database.sql,
      now: () => begunMs + setMs + passedMs,
      elapsed: () => passedMs,
      log: { warn: (_what: unknown, text?: string) => void warnings.push(text ?? ''), info: () => undefined },
    });
    return {
      warnings,
      set(ms: number): void {
        setMs += ms;
      },
      /** Asks every ten minutes until so much time has passed. */
      async run(ms: number): Promise<number> {
        for (const endMs = passedMs + ms; passedMs < endMs; passedMs = Math.min(endMs, passedMs + 10 * 60_000))
          await ask();
        return (await ask()) - begunMs;
      },
    };
  };

  it("is the clock's, also where that is set by up to two days", async () => {
    const { set, run, warnings } = startProcess();
    assert.equal(await run(hourMs), hourMs);
    set(2 * dayMs);
    assert.equal(await run(0), 2 * dayMs + hourMs);
    set(-3 * dayMs);
    assert.equal(await run(hourMs), 2 * hourMs - dayMs);
    assert.deepEqual(warnings, []);
  });

  it('stays where it was for a day when the clock goes ahead by a year', async () => {
    const { set, run, warnings } = startProcess();
    await run(hourMs);
    set(365 * dayMs);
    assert.equal(await run(dayMs - hourMs), hourMs);
    assert.equal(warnings.length, 1);
    assert.equal(await run(hourMs), 365 * dayMs + dayMs + hourMs);
    assert.equal(await run(hourMs), 365 * dayMs + dayMs + 2 * hourMs);
  });

  it('goes on with the clock when that is corrected within the day', async () => {
    const { set, run } = startProcess();
    await run(hourMs);
    set(365 * dayMs);
    assert.equal(await run(5 * hourMs), hourMs);
    set(-365 * dayMs);
    assert.equal(await run(hourMs), 7 * hourMs);
  });

  it('begins to wait again when the clock goes ahead a second time', async () => {
    const { set, run, warnings } = startProcess();
    await run(hourMs);
    set(30 * dayMs);
    await run(5 * hourMs);
    set(300 * dayMs);
    assert.equal(await run(dayMs - hourMs), hourMs);
    assert.equal(warnings.length, 2);
    assert.equal(await run(hourMs), 330 * dayMs + dayMs + 6 * hourMs);
  });

  it('waits over restarts, and after a rest of weeks as well', async () => {
    await startProcess().run(hourMs);
    assert.equal(await startProcess(20 * dayMs).run(hourMs), hourMs);
    assert.equal(await startProcess(21 * dayMs - hourMs).run(0), hourMs);
    assert.equal(await startProcess(21 * dayMs).run(0), 21 * dayMs);
  });
});
