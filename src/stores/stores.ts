import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { newId } from '../platform/ids.ts';
import type { Settings } from '../settings/settings.ts';
import { createAnnotations } from './annotations.ts';
import { boundCounts, countsAtOnce } from './bounded-counts.ts';
import { createAnnotationTable } from './clickhouse/annotation-table.ts';
import { createClickHouse } from './clickhouse/client.ts';
import { createCrosstabStore } from './clickhouse/counts/crosstab.ts';
import { createTotalsStore } from './clickhouse/counts/totals.ts';
import { createLostParts } from './clickhouse/read/lost-parts.ts';
import { createResponseStore } from './clickhouse/responses.ts';
import { createIdempotencyRecords } from './clickhouse/write/idempotency-records.ts';
import { openStoreConnections } from './connections/open-connections.ts';
import { deferConnect, requireReadyClickHouse, requireReadySql } from './connections/require-ready.ts';
import { createExportFiles } from './export-files.ts';
import { createAiAnnotationRows } from './postgres/ai/annotations.ts';
import { asynchronousPoolSize, createPostgres, type Sql } from './postgres/client.ts';
import { createCollectorStore } from './postgres/collectors.ts';
import { createExportStore } from './postgres/exports.ts';
import { createInvitationStore } from './postgres/invitations.ts';
import { createLogoStore } from './postgres/logos.ts';
import { createSurveyStore } from './postgres/surveys.ts';
import { createTranslationStore } from './postgres/translations.ts';
import { createUploadRows } from './postgres/uploads.ts';
import { createDeliveryStore } from './postgres/webhook-deliveries.ts';
import { createResponseEventStore } from './postgres/webhook-response-events.ts';
import { createWebhookStore } from './postgres/webhooks.ts';
import { createQueryCache } from './query-cache.ts';
import { createUnsavedReplies } from './redis/ai/unsaved-replies.ts';
import { createErasureLog } from './redis/append-only-file.ts';
import { createBackgroundRedis, createIntakeRedis, createSharedRedis, createWaitingRedis } from './redis/clients.ts';
import { createHarmlessParts } from './redis/harmless-parts.ts';
import { createDataVersions } from './redis/intake/data-version.ts';
import { createDefinitionStore } from './redis/intake/definitions.ts';
import { watchDurability } from './redis/intake/durability-watch.ts';
import { createIdempotencyGenerations } from './redis/intake/idempotency.ts';
import { createIntake } from './redis/intake/intake.ts';
import { createLongestWait } from './redis/intake/longest-wait.ts';
import { watchMemoryPressure } from './redis/intake/memory-pressure.ts';
import { createShards } from './redis/intake/shards.ts';
import { createStream } from './redis/intake/stream.ts';
import { createLiveNotifications, createLiveStream } from './redis/live-stream.ts';
import { createOncePerDay } from './redis/once-per-day.ts';
import { createPermissionNotifications } from './redis/permission-notifications.ts';
import { createPubSub } from './redis/pub-sub.ts';
import { createDiskStorage } from './uploads/disk.ts';

export interface StoreUrls {
  redis: string;
  redisJobs: string;
  postgres: string;
  clickhouse: readonly string[];
}

export interface OpenStoresOptions {
  urls: StoreUrls;
  settings: Pick<Settings, 'intakeShards' | 'clickhouseCluster' | 'dataDir'> &
    Partial<Pick<Settings, 'uploadBucket' | 'intakeMayLose' | 'workers' | 'clickhouseUrls'>>;
  log: Log;
  metrics: Pick<Metrics, 'committed' | 'submitted' | 'intakeMemoryUsed' | 'intakeMemoryUnknown'>;
}

/**
 * Begins to connect to all stores and to migrate their schemas, and returns the objects that are built on them. It does
 * not wait: until a store is reached (`contacts`), every call that needs it is refused with SERVICE_UNAVAILABLE.
 */
export async function openStores({ urls, settings, log, metrics }: OpenStoresOptions) {
  const intakeRedis = createIntakeRedis(urls.redis, log);
  // Reading the streams must not wait behind the writers' batches, nor behind ingest.
  const streamRedis = createSharedRedis(urls.redis, log);
  const backgroundRedis = createBackgroundRedis(urls.redis, log);
  const sharedRedis = createSharedRedis(urls.redisJobs, log);
  const subscriberRedis = createWaitingRedis(urls.redisJobs, log);
  // Live streams read a lot when many clients reconnect at once, and ingest must not wait behind them.
  const liveRedis = createSharedRedis(urls.redis, log);
  const redises = [intakeRedis, streamRedis, backgroundRedis, liveRedis, sharedRedis, subscriberRedis];
  const placement = settings.clickhouseCluster === undefined ? {} : { cluster: settings.clickhouseCluster };
  const [ownSql, ownAsynchronousSql, ownClickHouse] = [
    createPostgres(urls.postgres, { log }),
    createPostgres(urls.postgres, { log, poolSize: asynchronousPoolSize, isCommitAsynchronous: true }),
    createClickHouse({ urls: urls.clickhouse, log }),
  ];
  const contacts = openStoreConnections({
    urls,
    settings,
    placement,
    log,
    clickhouse: ownClickHouse,
    openIntake: [intakeRedis, streamRedis, backgroundRedis, liveRedis].map(deferConnect),
    openJobs: [sharedRedis, subscriberRedis].map(deferConnect),
  });
  const [sql, asynchronousSql, clickhouse] = [
    requireReadySql(ownSql, contacts.postgres),
    requireReadySql(ownAsynchronousSql, contacts.postgres),
    requireReadyClickHouse(ownClickHouse, contacts.clickhouse),
  ];
  const shards = createShards(settings.intakeShards);
  const counts = {
    totals: createTotalsStore({ clickhouse, ...placement }),
    crosstab: createCrosstabStore({ clickhouse, ...placement }),
  };
  const { totals, crosstab } = boundCounts(counts, {
    atOnce: countsAtOnce({ isEmbedded: !settings.clickhouseUrls, processes: settings.workers ?? 1 }),
  });
  const mayReplicasLag = placement.cluster !== undefined || urls.clickhouse.length > 1;
  const pressure = watchMemoryPressure(backgroundRedis, {
    shards,
    report: metrics.intakeMemoryUsed,
    reportUnknown: metrics.intakeMemoryUnknown,
  });
  const durability = watchDurability(streamRedis, { mayLose: settings.intakeMayLose ?? false, log });
  const messages = createPubSub({ publisher: sharedRedis, subscriber: subscriberRedis, log });
  // The SDK takes a while to load, and most installations never need it.
  const uploadStorage = settings.uploadBucket
    ? (await import('./uploads/s3.ts')).createS3Storage({ ...settings.uploadBucket, log })
    : createDiskStorage(settings.dataDir);
  const stream = createStream(streamRedis);
  return {
    contacts,
    sql,
    clickhouse,
    sharedRedis,
    intakeRedis,
    streamRedis,
    shards,
    pressure,
    durability,
    /** Why no submission is taken now; undefined: they are taken. */
    intakeRefusal: () => durability.refusal() ?? pressure.refusal(),
    placement,
    surveys: createSurveyStore(sql),
    collectors: createCollectorStore(sql),
    invitations: createInvitationStore(sql),
    webhooks: createWebhookStore(sql),
    deliveries: createDeliveryStore(sql),
    responseEvents: createResponseEventStore(sql),
    sending: createSendingStores({ sql, asynchronousSql }),
    exports: createExportStore(sql),
    exportFiles: createExportFiles(settings.dataDir),
    translations: createTranslationStore(sql),
    logos: createLogoStore(sql),
    uploadRows: createUploadRows(sql),
    uploadStorage,
    intake: createIntake({ redis: intakeRedis, shards, metrics, memory: pressure }),
    definitions: createDefinitionStore({ redis: streamRedis, shards, maxBytes: pressure.definitionBytes }),
    longestWaitMs: createLongestWait({ stream, shards }),
    mayHaveLegacyKeys: contacts.mayHaveLegacyKeys,
    generations: createIdempotencyGenerations(backgroundRedis, shards),
    stream,
    ingestStream: createStream(backgroundRedis),
    erasureLog: createErasureLog({ redis: streamRedis, jobsRedis: sharedRedis, stream, shards }),
    responses: createResponseStore({ clickhouse, ...placement }),
    lostParts: createLostParts({ clickhouse, harmless: createHarmlessParts(streamRedis), ...placement }),
    idempotencyRecords: createIdempotencyRecords(clickhouse, placement),
    totals,
    queryCache: createQueryCache({
      totals,
      crosstab,
      dataVersions: createDataVersions(liveRedis, shards),
      mayReplicasLag,
    }),
    annotations: createAnnotations({
      rows: createAiAnnotationRows(sql),
      table: createAnnotationTable({ clickhouse, ...placement }),
      newId: () => newId(),
    }),
    unsavedReplies: createUnsavedReplies(sharedRedis),
    oncePerDay: createOncePerDay(sharedRedis),
    live: createLiveStream(liveRedis),
    messages,
    liveNotifications: createLiveNotifications(messages),
    permissionNotifications: createPermissionNotifications(messages),
    async close(): Promise<void> {
      contacts.stop();
      pressure.stop();
      durability.stop();
      uploadStorage.close();
      for (const redis of redises) redis.disconnect();
      await Promise.all([sql.end({ timeout: 2 }), asynchronousSql.end({ timeout: 2 }), clickhouse.close()]);
    },
  };
}

/**
 * The webhook stores of what sends. Leases may be undone by a crash of PostgreSQL. What it sends, under which id and
 * with which outcome, may not: requests would be repeated. Outcomes of a few requests a second are the exception.
 */
function createSendingStores({ sql, asynchronousSql }: { sql: Sql; asynchronousSql: Sql }) {
  const { add, bindBatch, saveResults } = createDeliveryStore(sql);
  const asynchronous = createDeliveryStore(asynchronousSql);
  return {
    webhooks: createWebhookStore(asynchronousSql),
    deliveries: { ...asynchronous, add, bindBatch, saveResults, saveResultsUnsynced: asynchronous.saveResults },
    responseEvents: createResponseEventStore(asynchronousSql),
  };
}

export type Stores = Awaited<ReturnType<typeof openStores>>;
