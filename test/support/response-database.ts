import { after, before } from 'node:test';
import type { AnswerRow } from '../../src/domain/questions/contract.ts';
import { encodeResponse, type ResponseHead } from '../../src/domain/response-row.ts';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { type ClickHouse, createClickHouse } from '../../src/stores/clickhouse/client.ts';
import {
  createResponseStore,
  type InsertOutcome,
  type ResponseRecord,
  type ResponseStore,
} from '../../src/stores/clickhouse/responses.ts';
import { migrateClickHouse } from '../../src/stores/clickhouse/schema/migrate.ts';
import { sharedStores } from './stores.ts';

/** A response for tests; what is not given has a plain value. */
export interface GivenResponse extends Partial<ResponseHead>, Partial<AnswerRow> {
  surveyId: string;
}

/** When a given response was submitted, unless it says so itself. */
export const givenStart = Date.parse('2026-03-01T10:00:00.000Z');

type ResponseFilters = Parameters<ResponseStore['stream']>[0];

export interface ResponseDatabase {
  clickhouse: ClickHouse;
  responses: ResponseStore;
  store(lines: readonly string[], batch?: { codeColumns?: number }): Promise<InsertOutcome>;
  /** Stores the responses of a new survey, whose id it gives. */
  given(responses: readonly Omit<GivenResponse, 'surveyId'>[], batch?: { codeColumns?: number }): Promise<string>;
  /** The responses of a survey as they are streamed. */
  walk(surveyId: string, filters?: Omit<ResponseFilters, 'surveyId'>): Promise<ResponseRecord[]>;
  /** Drops the database. */
  drop(): Promise<void>;
  /** Drops the database and stops the stores if they were started here. */
  close(): Promise<void>;
}

/** A migrated database of its own on the shared ClickHouse. */
export async function openResponseDatabase(): Promise<ResponseDatabase> {
  const stores = await sharedStores();
  const url = new URL(stores.clickhouseUrl);
  url.pathname = `/responses_${newId().replaceAll('-', '')}`;
  const clickhouse = createClickHouse({ urls: [url.href], log: createLog('error') });
  await migrateClickHouse(clickhouse);
  const responses = createResponseStore({ clickhouse });
  const drop = async () => {
    await clickhouse.command(`DROP DATABASE \`${clickhouse.database}\` SYNC`);
    await clickhouse.close();
  };
  const store: ResponseDatabase['store'] = (lines, { codeColumns = 64 } = {}) =>
    responses.insertBatch({ lines: Buffer.from(lines.join('\n')), rows: lines.length, codeColumns });
  return {
    clickhouse,
    responses,
    store,
    async given(given, batch) {
      const surveyId = newId();
      await store(
        given.map((response) => responseLine({ surveyId, ...response })),
        batch,
      );
      return surveyId;
    },
    async walk(surveyId, filters = {}) {
      const found: ResponseRecord[] = [];
      for await (const record of responses.stream({ surveyId, ...filters })) found.push(record);
      return found;
    },
    drop,
    async close() {
      await drop();
      await stores.stop();
    },
  };
}

/** A database for the tests of a file, which `take` is given before the first of them; it is dropped after the last. */
export function useResponseDatabase(take: (opened: ResponseDatabase) => void): void {
  let database: ResponseDatabase | undefined;
  before(async () => {
    database = await openResponseDatabase();
    take(database);
  });
  after(() => database?.close());
}

export function responseLine({ codes = [], numbers = [], texts = [], ...given }: GivenResponse): string {
  const head: ResponseHead = {
    responseId: newId(),
    submittedAtMs: givenStart,
    version: 1,
    surveyVersion: 1,
    outcome: 'COMPLETED',
    completedAtMs: given.submittedAtMs ?? givenStart,
    durationMs: -1,
    language: 'en',
    respondent: '',
    metadata: {},
    ...given,
  };
  return encodeResponse(head, { codes, numbers, texts });
}
