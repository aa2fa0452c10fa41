import { createLog } from '../../src/log.ts';
import { createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { sharedStores } from './stores.ts';

/**
 * Stores `count` responses to the only question of a survey, a NUMBER, on the shared stores: the newest has the answer
 * 1, each older one the next number.
 */
export async function storeNumberResponses(surveyId: string, count: number): Promise<void> {
  const { clickhouseUrl } = await sharedStores();
  const clickhouse = createClickHouse({ urls: [clickhouseUrl], log: createLog('error') });
  await clickhouse.command(
    `INSERT INTO ${clickhouse.table('responses')} (survey_id, response_id, submitted_at, version, is_deleted, survey_version, is_complete, completed_at, duration_ms, language, numbers, c0)
     SELECT '${surveyId}', generateUUIDv4(), fromUnixTimestamp64Milli(toInt64(${Date.now()} - 1000 * number), 'UTC') AS at, 1, 0, 1, 1, at, 1000, 'en', [number + 1], 1 FROM numbers(${count})`,
    { timeoutMs: 120_000 },
  );
  await clickhouse.close();
}
