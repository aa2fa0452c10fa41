import { encodeTombstone } from '../src/domain/response-row.ts';
import { newId } from '../src/platform/ids.ts';
import { createResponseStore } from '../src/stores/clickhouse/responses.ts';
import { startBenchClickHouse } from './support/clickhouse.ts';
import { machineLine, option } from './support/machine.ts';
import { benchSurveyId, fillResponses, mergeParts } from './support/response-fill.ts';

/**
 * Erasing in a table of `--responses N` (1,000,000) at rest: a round with nothing to erase, one deleted response, a
 * survey of ten responses, and a round beside `--deletions N` (10,000) tombstones whose responses are gone. Limit: to
 * rewrite, by a bare statement, the one part that holds the response. Peer: to merge its month, as OPTIMIZE does.
 */
const [responses, deletions] = [option('responses', 1_000_000), option('deletions', 10_000)];
const options = { maxPartBytes: Number.MAX_SAFE_INTEGER, tombstonesBefore: new Date(0), keepTombstonesOf: [] };

console.log(machineLine());
const { clickhouse, stop } = await startBenchClickHouse();
try {
  const store = createResponseStore({ clickhouse });
  const table = clickhouse.table('responses');
  const insert = async (lines: readonly string[]) => {
    const outcome = await store.insertBatch({
      lines: Buffer.from(lines.join('\n')),
      rows: lines.length,
      codeColumns: 10,
    });
    if (outcome.kind !== 'stored') throw new Error(`not stored: ${outcome.reason}`);
  };
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const startedAt = performance.now();
    await work();
    return Math.round(performance.now() - startedAt);
  };
  /** Some responses, spread over all days. */
  const some = async (count: number) =>
    clickhouse.select<[responseId: string, submittedAtMs: number]>(
      `SELECT response_id, toUnixTimestamp64Milli(submitted_at) FROM ${table} WHERE survey_id = '${benchSurveyId}' AND is_deleted = 0
       ORDER BY cityHash64(response_id) LIMIT ${count}`,
    );
  const deleteThem = (found: readonly (readonly [string, number])[]) =>
    insert(found.map(([responseId, submittedAtMs]) => encodeTombstone(benchSurveyId, responseId, submittedAtMs)));

  await fillResponses(clickhouse, responses);
  await mergeParts(clickhouse);
  await store.eraseDeleted(options);
  const nothingMs = await timed(() => store.eraseDeleted(options));

  const [first, second, ...others] = await some(deletions + 2);
  if (!first || !second) throw new Error('there are no responses');
  const limitMs = await timed(() =>
    clickhouse.command(
      `ALTER TABLE ${table} DELETE WHERE survey_id = '${benchSurveyId}' AND submitted_at = fromUnixTimestamp64Milli(toInt64(${first[1]}), 'UTC') AND response_id = '${first[0]}' SETTINGS mutations_sync = 2`,
      { timeoutMs: 600_000 },
    ),
  );
  await deleteThem([second]);
  const oneMs = await timed(() => store.eraseDeleted(options));
  const month = new Date(second[1]).toISOString().slice(0, 7).replace('-', '');
  const peerMs = await timed(() =>
    clickhouse.command(`OPTIMIZE TABLE ${table} PARTITION ${month} FINAL`, { timeoutMs: 600_000 }),
  );

  const small = newId();
  await clickhouse.command(
    `INSERT INTO ${table} SELECT * REPLACE (toUUID('${small}') AS survey_id) FROM ${table} WHERE survey_id = '${benchSurveyId}' LIMIT 10`,
  );
  await mergeParts(clickhouse);
  const surveyMs = await timed(() => store.eraseSurvey(small));

  await deleteThem(others);
  await store.eraseDeleted(options);
  const amongTombstonesMs = await timed(() => store.eraseDeleted(options));
  console.log(
    `${responses.toLocaleString('en')} responses: nothing to erase ${nothingMs} ms, beside ${deletions.toLocaleString('en')} tombstones ${amongTombstonesMs} ms · one response ${oneMs} ms (limit ${limitMs}, merging its month ${peerMs}) · a survey of ten hidden in ${surveyMs} ms`,
  );
  console.log(
    JSON.stringify({
      bench: 'erasure',
      responses,
      nothingMs,
      amongTombstonesMs,
      limitMs,
      oneMs,
      peerMs,
      surveyMs,
    }),
  );
} finally {
  await stop();
}
