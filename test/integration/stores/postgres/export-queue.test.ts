import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { createExportJobs } from '../../../../src/pipelines/exports/jobs.ts';
import type { ExportResult } from '../../../../src/pipelines/exports/run-in-child-process.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createExportStore, maxOpenExports } from '../../../../src/stores/postgres/exports.ts';
import { analysedSurvey, type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

describe('the queue of exports', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());
  /** Asks for a file in the name of a user; `isMade`: false if it was refused. */
  const ask = async (surveyId: string, userId: string) => {
    const exports = createExportStore(database.sql);
    const id = newId();
    const created = await exports.create(
      {
        id,
        surveyId,
        userId,
        format: 'CSV',
        options: { filters: [], labels: 'text' },
        surveyVersion: 1,
        createdAt: new Date(),
      },
      { maxUserBytes: 1 },
    );
    const isMade = created.kind === 'created';
    assert.equal((await exports.find(id)) !== undefined, isMade);
    return { id, isMade };
  };

  it('holds at most the maximum of open exports for each user, without effect on other users', async () => {
    const { surveyId } = await analysedSurvey(database, '');
    const other = newId();
    await database.sql`INSERT INTO users ${database.sql({ id: other, email: 'b@example.org', email_key: 'b@example.org', password_hash: '-', role: 'VIEWER' })}`;
    const exports = createExportStore(database.sql);
    const first = await ask(surveyId, other);
    for (let n = 1; n < maxOpenExports; n += 1) assert.equal((await ask(surveyId, other)).isMade, true);
    assert.equal((await ask(surveyId, other)).isMade, false);
    assert.equal((await ask(surveyId, database.ownerId)).isMade, true);
    assert.equal(
      (await database.sql`SELECT FROM outbox WHERE kind = 'export.requested'`).length,
      maxOpenExports + 1,
      'nothing is put in line for what is refused',
    );
    assert.deepEqual([await exports.fail(first.id, 'no'), await exports.fail(first.id, 'no')], [true, false]);
    assert.equal((await ask(surveyId, other)).isMade, true);
  });

  it('holds no more when all are asked for at once', async () => {
    const { surveyId } = await analysedSurvey(database, '');
    const userId = newId();
    await database.sql`INSERT INTO users ${database.sql({ id: userId, email: 'c@example.org', email_key: 'c@example.org', password_hash: '-', role: 'VIEWER' })}`;
    const asked = await Promise.all(Array.from({ length: 4 * maxOpenExports }, () => ask(surveyId, userId)));
    assert.equal(asked.filter(({ isMade }) => isMade).length, maxOpenExports);
  });

  it('keeps the greatest progress of an export whose file is begun again, in the same run or in another one', async () => {
    const { surveyId } = await analysedSurvey(database, '');
    const exports = createExportStore(database.sql);
    const { id } = await ask(surveyId, database.ownerId);
    const seen: (number | undefined)[] = [];
    const look = async () => seen.push((await exports.find(id))?.progress);
    await exports.start(id);
    await look();
    for (const progress of [0.6, 0.2]) {
      await exports.saveProgress(id, progress);
      await look();
    }
    await exports.start(id);
    await look();
    for (const progress of [0.5, 0.7]) {
      await exports.saveProgress(id, progress);
      await look();
    }
    assert.deepEqual(seen, [0, 0.6, 0.6, 0.6, 0.6, 0.7]);
  });

  it('is given the exports that it could not take, or has lost, once a minute is over', async () => {
    const { surveyId } = await analysedSurvey(database, '');
    const { id } = await ask(surveyId, database.ownerId);
    const unused = () => assert.fail('no file is made here');
    const added: string[] = [];
    let isFull = true;
    let nowMs = Date.now();
    const jobs = createExportJobs({
      workers: {
        add: async (_queue, payload) => {
          if (isFull) throw new Error('OOM command not allowed');
          added.push(Object.values(payload)[0] ?? '');
        },
        consume: unused,
      },
      exports: createExportStore(database.sql),
      files: { remove: unused, list: unused },
      caughtUp: unused,
      makeFile: unused,
      publishProgress: unused,
      now: () => nowMs,
      metrics: { exportEnded: unused },
    });
    const requeue = jobs.tasks.find(({ name }) => name === 'requeue lost exports');
    await assert.rejects(jobs.enqueue(id), /OOM/);
    nowMs += 61_000;
    await assert.rejects(async () => requeue?.run(), /OOM/);
    isFull = false;
    await requeue?.run();
    assert.equal(added.filter((each) => each === id).length, 1);
  });

  it('keeps the exports whose last attempt met a store that is away, until they are half a day old', async () => {
    const { surveyId } = await analysedSurvey(database, '');
    const exports = createExportStore(database.sql);
    const unused = () => assert.fail('no job is added and no file listed here');
    const away = async (): Promise<never> => {
      throw unavailable('Accepted responses are still on their way to the response store');
    };
    let nowMs = Date.now();
    /** What the record says once an attempt, the last one, has ended so. */
    const afterLastAttempt = async (id: string, outcome: ExportResult | 'ingest is behind') => {
      let runLast = async (): Promise<void> => unused();
      const jobs = createExportJobs({
        workers: {
          add: unused,
          consume: (_queue, handle, onExhausted) => {
            const payload = { exportId: id } as Parameters<typeof handle>[0];
            runLast = () => handle(payload).catch((error: unknown) => onExhausted?.(payload, error));
            return { stop: async () => undefined };
          },
        },
        exports,
        files: { remove: async () => undefined, list: unused },
        caughtUp: outcome === 'ingest is behind' ? away : async () => undefined,
        makeFile: async () => (outcome === 'ingest is behind' ? unused() : outcome),
        publishProgress: () => undefined,
        now: () => nowMs,
        metrics: { exportEnded: () => undefined },
      });
      jobs.start();
      await runLast();
      await jobs.stop();
      return exports.find(id);
    };
    const { id } = await ask(surveyId, database.ownerId);
    const storeAway: ExportResult = { kind: 'unavailable', reason: 'The response store cannot be reached' };
    for (const outcome of [storeAway, 'ingest is behind'] as const)
      assert.equal((await afterLastAttempt(id, outcome))?.status, 'PENDING');
    const other = await ask(surveyId, database.ownerId);
    const failed = await afterLastAttempt(other.id, { kind: 'retryable', reason: 'the process ended with 1' });
    assert.deepEqual(
      [failed?.status, failed?.error],
      ['FAILED', 'The file could not be made; please ask for it again'],
    );
    nowMs += 13 * 3_600_000;
    const old = await afterLastAttempt(id, storeAway);
    assert.deepEqual([old?.status, /a store is away/.test(old?.error ?? '')], ['FAILED', true]);
  });

  it('forgets failed and expired exports a month after their end, and no others', async () => {
    const { surveyId } = await analysedSurvey(database, '');
    const exports = createExportStore(database.sql);
    const nowMs = Date.now();
    const daysAgo = (days: number): Date => new Date(nowMs - days * 86_400_000);
    const ended: [string, string, number, number | null][] = [
      ['failed long ago', 'FAILED', 31, null],
      ['failed', 'FAILED', 29, null],
      ['expired long ago', 'EXPIRED', 38, 31],
      ['expired', 'EXPIRED', 36, 29],
      ['there for ever', 'COMPLETED', 400, null],
    ];
    const idOf = new Map<string, string>();
    for (const [name, status, completed, expires] of ended) {
      const { id } = await ask(surveyId, database.ownerId);
      idOf.set(id, name);
      await database.sql`UPDATE exports SET status = ${status}, completed_at = ${daysAgo(completed)},
        expires_at = ${expires === null ? null : daysAgo(expires)} WHERE id = ${id}`;
    }
    const unused = () => assert.fail('no file is made here');
    const jobs = createExportJobs({
      workers: { add: unused, consume: unused },
      exports,
      files: { remove: unused, list: unused },
      caughtUp: unused,
      makeFile: unused,
      publishProgress: unused,
      now: () => nowMs,
      metrics: { exportEnded: unused },
    });
    await jobs.tasks.find(({ name }) => name === 'remove ended exports')?.run();
    const left = await database.sql<{ id: string }[]>`SELECT id FROM exports WHERE survey_id = ${surveyId} ORDER BY id`;
    assert.deepEqual(
      left.map(({ id }) => idOf.get(id)),
      ['failed', 'expired', 'there for ever'],
    );
  });
});
