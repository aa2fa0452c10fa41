import assert from 'node:assert/strict';
import { existsSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { createLostParts, type HarmlessParts } from '../../../../src/stores/clickhouse/read/lost-parts.ts';
import {
  createDamagedParts,
  type DamagedPart,
  type StoreRowsOfPart,
} from '../../../../src/stores/clickhouse/write/damaged-parts.ts';
import { openResponseDatabase, type ResponseDatabase, responseLine } from '../../../support/response-database.ts';

describe('parts of the response table that ClickHouse cannot read', () => {
  let database: ResponseDatabase;
  before(async () => {
    database = await openResponseDatabase();
    // Parts stay as they were inserted; a projection can be made anew all the same.
    await database.clickhouse.command(
      `ALTER TABLE ${database.clickhouse.table('responses')} MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1`,
    );
  });
  after(() => database.close());

  /** A survey with responses in a part of their own, and where the part lies. */
  async function storeSurvey(): Promise<{ surveyId: string; partName: string; path: string }> {
    const surveyId = newId();
    await database.store([responseLine({ surveyId }), responseLine({ surveyId })]);
    const [part] = await database.clickhouse.select<[string]>(
      `SELECT DISTINCT _part FROM ${database.clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`,
    );
    const [row] = await database.clickhouse.select<[string]>(
      `SELECT path FROM system.parts WHERE active AND database = '${database.clickhouse.database}' AND name = '${part?.[0]}'`,
    );
    return { surveyId, partName: part?.[0] ?? '', path: row?.[0] ?? '' };
  }

  /** As if the intake had all rows. */
  const storeAgain = async () => true;
  /** The damaged parts that a call reports. */
  async function repaired(parts = database.responses.damagedParts, store: StoreRowsOfPart = storeAgain) {
    const found: DamagedPart[] = [];
    await parts.repairNewParts(store, (part) => found.push(part));
    return found;
  }
  /** Loads the parts of the table as a start of ClickHouse does. */
  async function startAgain(): Promise<void> {
    const table = database.clickhouse.table('responses');
    await database.clickhouse.command(`DETACH TABLE ${table} SYNC`);
    await database.clickhouse.command(`ATTACH TABLE ${table}`);
  }
  const merge = () => database.clickhouse.command(`OPTIMIZE TABLE ${database.clickhouse.table('responses')} FINAL`);
  async function pathOfMerged(surveyId: string): Promise<string> {
    const { clickhouse } = database;
    const [row] = await clickhouse.select<[string]>(
      `SELECT path FROM system.parts WHERE active AND database = '${clickhouse.database}' AND name = (SELECT any(_part) FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}')`,
    );
    return row?.[0] ?? '';
  }
  function harmlessParts(): HarmlessParts {
    const known = new Set<string>();
    return {
      paths: async () => known,
      add: async (paths) => {
        for (const path of paths) known.add(path);
      },
    };
  }
  const lostParts = (harmless = harmlessParts()) => createLostParts({ clickhouse: database.clickhouse, harmless });

  /** The count that the projection holds. */
  const totalOf = async (surveyId: string) =>
    (
      await database.clickhouse.select<[number]>(
        `SELECT count() FROM ${database.clickhouse.table('responses')} WHERE survey_id = '${surveyId}' AND is_deleted = 0`,
        { settings: { force_optimize_projection: 1 } },
      )
    )[0]?.[0];
  const rowsOf = async (surveyId: string) =>
    (
      await database.clickhouse.select<[number]>(
        `SELECT count() FROM ${database.clickhouse.table('responses')} WHERE survey_id = '${surveyId}' AND NOT ignore(numbers)`,
      )
    )[0]?.[0];

  it('are refused as unavailable while their projection is damaged, which is then rebuilt from the rows', async (test) => {
    const { surveyId, partName, path } = await storeSurvey();
    if (!existsSync(path)) return test.skip('the files of this ClickHouse are on another machine');
    await repaired();
    const damaged = await storeSurvey();
    truncateSync(join(damaged.path, 'hours.proj', 'data.bin'));
    await assert.rejects(totalOf(damaged.surveyId), { code: 'SERVICE_UNAVAILABLE' });
    const found = await repaired();
    assert.deepEqual(
      found.map(({ name, isRebuilt, isDropped }) => ({ name, isRebuilt, isDropped })),
      [{ name: damaged.partName, isRebuilt: true, isDropped: false }],
    );
    assert.notEqual(damaged.partName, partName);
    assert.deepEqual([await totalOf(damaged.surveyId), await totalOf(surveyId)], [2, 2]);
    assert.deepEqual(await repaired(), [], 'the new projection is whole');
  });

  it('are dropped if their rows are damaged, so that others can be read and these can be stored again', async (test) => {
    const whole = await storeSurvey();
    const damaged = await storeSurvey();
    if (!existsSync(damaged.path)) return test.skip('the files of this ClickHouse are on another machine');
    truncateSync(join(damaged.path, 'data.bin'), 100);
    await assert.rejects(rowsOf(damaged.surveyId), { code: 'SERVICE_UNAVAILABLE' });
    const found = await repaired();
    assert.deepEqual(
      found.map(({ name, isRebuilt, isDropped }) => ({ name, isRebuilt, isDropped })),
      [{ name: damaged.partName, isRebuilt: false, isDropped: true }],
    );
    assert.deepEqual([await rowsOf(damaged.surveyId), await rowsOf(whole.surveyId)], [0, 2]);
    const { clickhouse } = database;
    const detached = `SELECT name FROM system.detached_parts WHERE database = '${clickhouse.database}'`;
    assert.deepEqual(await clickhouse.select(detached), [], 'no erasure reaches what is left aside');
  });

  it('stay if others may not have their rows, as of one insert that is old, or that was changed since', async (test) => {
    const [old, changed] = [await storeSurvey(), await storeSurvey()];
    if (!existsSync(old.path)) return test.skip('the files of this ClickHouse are on another machine');
    const { clickhouse } = database;
    const partOf = async (surveyId: string) =>
      (
        await clickhouse.select<[string, string]>(
          `SELECT name, path FROM system.parts WHERE active AND database = '${clickhouse.database}' AND name IN
            (SELECT DISTINCT _part FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}')`,
        )
      )[0] ?? ['', ''];
    await clickhouse.command(
      `ALTER TABLE ${clickhouse.table('responses')} UPDATE respondent = 'x' WHERE survey_id = '${changed.surveyId}' SETTINGS mutations_sync = 2`,
    );
    const parts = [await partOf(old.surveyId), await partOf(changed.surveyId)];
    await repaired();
    const fresh = await storeSurvey();
    for (const path of [fresh.path, parts[1]?.[1] ?? '']) truncateSync(join(path, 'data.bin'), 100);
    const asked: string[] = [];
    const found = await repaired(createDamagedParts(clickhouse, {}), async ({ name, ageMs }) => {
      asked.push(name);
      assert.ok(ageMs >= 2000 && ageMs < 15 * 60_000);
      return false;
    });
    assert.deepEqual(
      found.map(({ name, isDropped }) => ({ name, isDropped })),
      [parts[1]?.[0], fresh.partName].map((name) => ({ name, isDropped: false })),
    );
    assert.deepEqual(asked, [fresh.partName]);
    for (const name of found.map((part) => part.name))
      await clickhouse.command(`ALTER TABLE ${clickhouse.table('responses')} DROP PART '${name}'`);
  });

  it('are checked no further once the service stops', async () => {
    const { clickhouse } = database;
    for (let n = 0; n < 3; n += 1) await storeSurvey();
    const stopping = new AbortController();
    let checks = 0;
    const counting: typeof clickhouse = {
      ...clickhouse,
      select: async (sql, options) => {
        if (!sql.startsWith('CHECK')) return clickhouse.select(sql, options);
        checks += 1;
        if (checks === 2) stopping.abort();
        return clickhouse.select(sql, options);
      },
    };
    const failing = createDamagedParts(counting, {}).repairNewParts(storeAgain, () => undefined, stopping.signal);
    await assert.rejects(failing, /could not be checked or repaired yet/);
    assert.equal(checks, 2);
  });

  it('are tried again at any age and delay no other where ClickHouse takes no rows', async (test) => {
    const { clickhouse } = database;
    await repaired();
    const [stuck, staying] = [await storeSurvey(), await storeSurvey()];
    if (!existsSync(stuck.path)) return test.skip('the files of this ClickHouse are on another machine');
    for (const { path } of [stuck, staying]) {
      const bytes = readFileSync(join(path, 'data.bin'));
      writeFileSync(join(path, 'data.bin'), bytes.fill(0xff, bytes.length >> 1));
    }
    const parts = createDamagedParts(clickhouse, {}, { retryOldMs: 0 });
    const found: DamagedPart[] = [];
    const failing = parts.repairNewParts(
      async ({ name }) => {
        if (name === stuck.partName) throw new Error('NOT_ENOUGH_SPACE');
        return false;
      },
      (part) => found.push(part),
    );
    await assert.rejects(failing, { message: `the part ${stuck.partName} could not be checked or repaired yet` });
    assert.deepEqual(
      found.map(({ name, isDropped }) => ({ name, isDropped })),
      [{ name: staying.partName, isDropped: false }],
    );
    const longAgo = Date.now() / 1000 - 20 * 60;
    for (const { path } of [stuck, staying]) utimesSync(path, longAgo, longAgo);
    await startAgain();
    assert.deepEqual(
      (await repaired(parts)).map(({ name, isDropped }) => ({ name, isDropped })),
      [{ name: stuck.partName, isDropped: true }],
    );
    await clickhouse.command(`ALTER TABLE ${clickhouse.table('responses')} DROP PART '${staying.partName}'`);
  });

  it('are named if ClickHouse has moved them out of the table at a start, until they are dropped', async (test) => {
    const damaged = await storeSurvey();
    if (!existsSync(damaged.path)) return test.skip('the files of this ClickHouse are on another machine');
    truncateSync(join(damaged.path, 'data.bin'), 100);
    await startAgain();
    assert.equal(await rowsOf(damaged.surveyId), 0);
    const name = `broken-on-start_${damaged.partName}`;
    const path = join(dirname(damaged.path), 'detached', name);
    const { find, known } = lostParts();
    assert.deepEqual(known(), [], 'nothing was looked for yet');
    assert.deepEqual(await find(), [{ table: 'responses', name, path }]);
    assert.deepEqual(known(), await find());
    await storeSurvey();
    await merge();
    assert.deepEqual(await find(), known(), 'a merge spans the gap');
    assert.equal(known().length, 1);
    await database.clickhouse.command(
      `ALTER TABLE ${database.clickhouse.table('responses')} DROP DETACHED PART '${name}' SETTINGS allow_drop_detached = 1`,
    );
    assert.deepEqual(await find(), []);
  });

  it('are not named while the parts that were merged into them have their rows, nor after later merges', async (test) => {
    const [one, other] = [await storeSurvey(), await storeSurvey()];
    if (!existsSync(one.path)) return test.skip('the files of this ClickHouse are on another machine');
    await merge();
    truncateSync(join(await pathOfMerged(one.surveyId), 'data.bin'), 100);
    await startAgain();
    assert.deepEqual([await rowsOf(one.surveyId), await rowsOf(other.surveyId)], [2, 2]);
    const harmless = harmlessParts();
    assert.deepEqual(await lostParts(harmless).find(), []);
    assert.equal((await harmless.paths()).size, 1);
    await storeSurvey();
    await merge();
    assert.deepEqual(await lostParts(harmless).find(), []);
  });
});
