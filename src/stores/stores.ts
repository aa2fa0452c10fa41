import { newId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Settings } from '../settings.ts';
import { createClickHouse } from './clickhouse/client.ts';
import { createCrosstabStore } from './clickhouse/crosstab.ts';
import { createFindingTable } from './clickhouse/findings.ts';
import { createIdempotencyRecords } from './clickhouse/idempotency-records.ts';
import { createResponseStore } from './clickhouse/responses.ts';
import { createTotalsStore } from './clickhouse/totals.ts';
import { beginContacts } from './contacts.ts';
import { createExportFiles } from './files.ts';
import { createFindings } from './findings.ts';
import { createKeptCounts } from './kept-counts.ts';
import { createAiFindingRows } from './postgres/ai-findings.ts';
import { createPostgres } from './postgres/client.ts';
import { createExportStore } from './postgres/exports.ts';
import { createSurveyStore } from './postgres/surveys.ts';
import { createTranslationStore } from './postgres/translations.ts';
import { createUploadRows } from './postgres/uploads.ts';
import { createDeliveryStore } from './postgres/webhook-deliveries.ts';
import { createWebhookStore } from './postgres/webhooks.ts';
import { createIntakeRedis, createSharedRedis, createWaitingRedis } from './redis/clients.ts';
import { createDefinitions } from './redis/definitions.ts';
import { createIdempotencyGenerations } from './redis/idempotency.ts';
import { createIntake } from './redis/intake.ts';
import { createLiveNews, createLiveStream } from './redis/live.ts';
import { createMessages } from './redis/messages.ts';
import { createPaidReplies } from './redis/paid-replies.ts';
import { watchPressure } from './redis/pressure.ts';
import { createRightsNews } from './redis/rights-news.ts';
import { createShards } from './redis/shards.ts';
import { createStoredMarks } from './redis/stored-marks.ts';
import { createStream } from './redis/stream.ts';
import { clickhouseUntilReached, openedLater, sqlUntilReached } from './until-reached.ts';
import { createDiskStorage } from './uploads/disk.ts';

export interface StoreUrls {
  redis: string;
  redisJobs: string;
  postgres: string;
  clickhouse: readonly string[];
}

export interface OpenStoresOptions {
  urls: StoreUrls;
  settings: Pick<Settings, 'intakeShards' | 'clickhouseCluster' | 'dataDir'> & Partial<Pick<Settings, 'uploadBucket' | 'intakeMayLose'>>;
  log: Log;
  metrics: Pick<Metrics, 'committed' | 'submitted' | 'intakeFilled'>;
}

/**
 * Begins to connect to all stores and to bring their schemas up to date, and gives what is built on them. It waits for none of them: until a
 * store is reached (`contacts`), every call that needs it is refused with SERVICE_UNAVAILABLE.
 */
export async function openStores({ urls, settings, log, metrics }: OpenStoresOptions) {
  const intakeRedis = createIntakeRedis(urls.redis, log);
  // Reading the streams must not wait behind the writers' batches.
  const streamRedis = createSharedRedis(urls.redis, log);
  const sharedRedis = createSharedRedis(urls.redisJobs, log);
  const listeningRedis = createWaitingRedis(urls.redisJobs, log);
  // Live streams read a lot when many clients come back at once: ingest must not wait behind them.
  const liveRedis = createSharedRedis(urls.redis, log);
  const redises = [intakeRedis, streamRedis, liveRedis, sharedRedis, listeningRedis];
  const placement = settings.clickhouseCluster === undefined ? {} : { cluster: settings.clickhouseCluster };
  const [ownSql, ownClickHouse] = [createPostgres(urls.postgres, { log }), createClickHouse({ urls: urls.clickhouse, log })];
  const contacts = beginContacts({
    urls, settings, placement, log, clickhouse: ownClickHouse,
    openIntake: [intakeRedis, streamRedis, liveRedis].map(openedLater), openJobs: [sharedRedis, listeningRedis].map(openedLater),
  });
  const [sql, clickhouse] = [sqlUntilReached(ownSql, contacts.postgres), clickhouseUntilReached(ownClickHouse, contacts.clickhouse)];
  const shards = createShards(settings.intakeShards);
  const [totals, crosstab] = [createTotalsStore({ clickhouse, ...placement }), createCrosstabStore({ clickhouse, ...placement })];
  const areServersApart = placement.cluster !== undefined || urls.clickhouse.length > 1;
  const pressure = watchPressure(streamRedis, { shards, tell: metrics.intakeFilled });
  const messages = createMessages({ sender: sharedRedis, listener: listeningRedis, log });
  // The SDK takes a while to load, and most installations never need it.
  const uploadStorage = settings.uploadBucket ? (await import('./uploads/s3.ts')).createS3Storage({ ...settings.uploadBucket, log }) : createDiskStorage(settings.dataDir);
  return {
    contacts, sql, clickhouse, sharedRedis, intakeRedis, streamRedis, shards, pressure, placement,
    surveys: createSurveyStore(sql),
    webhooks: createWebhookStore(sql),
    deliveries: createDeliveryStore(sql),
    exports: createExportStore(sql),
    exportFiles: createExportFiles(settings.dataDir),
    translations: createTranslationStore(sql),
    uploadRows: createUploadRows(sql),
    uploadStorage,
    intake: createIntake({ redis: intakeRedis, shards, metrics, room: pressure }),
    definitions: createDefinitions({ redis: streamRedis, shards, bytesAtMost: pressure.definitionBytes }),
    isFormerKnown: contacts.isFormerKnown,
    generations: createIdempotencyGenerations(streamRedis, shards),
    stream: createStream(streamRedis),
    responses: createResponseStore({ clickhouse, ...placement }),
    idempotencyRecords: createIdempotencyRecords(clickhouse),
    totals,
    keptCounts: createKeptCounts({ totals, crosstab, marks: createStoredMarks(liveRedis, shards), areServersApart }),
    findings: createFindings({ rows: createAiFindingRows(sql), table: createFindingTable({ clickhouse, ...placement }), newId: () => newId() }),
    paidReplies: createPaidReplies(sharedRedis),
    live: createLiveStream(liveRedis),
    messages,
    liveNews: createLiveNews(messages),
    rightsNews: createRightsNews(messages),
    async close(): Promise<void> {
      contacts.stop();
      pressure.stop();
      uploadStorage.close();
      for (const redis of redises) redis.disconnect();
      await Promise.all([sql.end({ timeout: 2 }), clickhouse.close()]);
    },
  };
}

export type Stores = Awaited<ReturnType<typeof openStores>>;
