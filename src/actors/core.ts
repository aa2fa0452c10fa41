import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { newResponseId } from '../platform/ids.ts';
import type { Secrets } from '../platform/secrets.ts';
import { createSemaphore } from '../platform/semaphore.ts';
import type { Settings } from '../settings/settings.ts';
import { createAudit } from '../stores/postgres/audit.ts';
import { retentionRules } from '../stores/postgres/survey-retention.ts';
import { createSurveyVersions } from '../stores/postgres/survey-versions.ts';
import type { Stores } from '../stores/stores.ts';
import { createUploadBudget } from '../stores/uploads/upload-budget.ts';
import { createUploads } from '../stores/uploads/uploads.ts';
import { createConsistentReads } from './consistent-reads.ts';
import { createDeadLetters } from './dead-letters.ts';
import { createResponseErasure } from './erasure/erasure.ts';
import { createFormerVersions } from './former-versions.ts';
import { createFindNamedUploads, createFindNaming } from './named-uploads.ts';
import { createPostgresFallback } from './postgres-fallback.ts';
import { createInvitations } from './submissions/invitation.ts';
import { createRestore } from './submissions/saved-response.ts';
import { createSubmissions } from './submissions/submit.ts';
import { createSurveyActors } from './survey-actors.ts';
import { createCollectorIds, createCurrentSurvey } from './survey-lookup.ts';

export interface CoreOptions {
  settings: Settings;
  stores: Stores;
  metrics: Metrics;
  secrets: Secrets;
  log: Log;
}

const surveyChangesChannel = 'survey:changed';
/** Bounds lookups in the response store that anybody can cause by naming ids. */
const lookupLimits = {
  concurrency: 16,
  maxQueued: 64,
  retryAfterSeconds: 1,
  queueFullMessage: 'Too many responses are being looked up right now',
};

/** Composes what every role needs: survey actors, submitting, consistent reads and erasure. */
export function createCore({ settings, stores, metrics, secrets, log }: CoreOptions) {
  const now = () => Date.now();
  const { surveys, intake, responses, stream, shards, messages } = stores;
  const audit = createAudit(stores.sql, log);
  const postgresFallback = createPostgresFallback({ log });
  const actors = createSurveyActors({
    surveys,
    intake,
    definitions: stores.definitions,
    postgresFallback,
    audit,
    now,
    log,
    metrics,
    countResponses: async (surveyId, collectorSlot = null) => ({
      ...((await responses.countBySurvey([surveyId])).get(surveyId) ?? { total: 0, complete: 0 }),
      ...(collectorSlot !== null && {
        completeByCollector: await responses.countCompleteByCode(surveyId, collectorSlot),
      }),
    }),
    broadcast: (surveyId, revision) => messages.publish(surveyChangesChannel, { surveyId, revision }),
  });
  const deadLetters = createDeadLetters({ stream, shards });
  const reading = createConsistentReads({ responses, stream, deadLetters, shards });
  const uploads = createUploads({
    rows: stores.uploadRows,
    storage: stores.uploadStorage,
    budget: createUploadBudget({
      rows: stores.uploadRows,
      storage: stores.uploadStorage,
      redis: stores.sharedRedis,
      limits: settings.uploadLimits,
      log,
    }),
    unclaimedTtlMs: settings.uploadUnclaimedMinutes * 60_000,
    now,
    isResponseStored: reading.isAccepted,
    findNamed: createFindNamedUploads({ responses, deadLetters, reading, intake }),
    findNaming: createFindNaming({ responses, deadLetters, reading }),
    log,
  });
  const erasure = createResponseErasure({
    intake,
    responses,
    reading,
    uploads,
    deadLetters,
    uploadRows: stores.uploadRows,
    annotations: stores.annotations,
    exports: stores.exports,
    exportFiles: stores.exportFiles,
    audit,
    log,
    now,
    invitations: stores.invitations,
    collectorsOf: async (surveyId, responseIds) => {
      const slot = responseIds.length === 0 ? null : ((await surveys.find(surveyId))?.collectorSlot ?? null);
      return slot === null ? [] : responses.codesAt(surveyId, slot, responseIds);
    },
    rules: (at) => retentionRules(stores.sql, settings.retentionDays, at),
  });
  const restore = createRestore({ responses, deadLetters, reading });
  const lookupSemaphore = createSemaphore(lookupLimits);
  const invitations = createInvitations({ secrets, invitations: stores.invitations, now, log });
  const formerVersions = createFormerVersions({ versions: createSurveyVersions(stores.sql), now });
  const submit = createSubmissions({
    invitations,
    actors,
    intake,
    uploads,
    secrets,
    quotaCounts: intake.quotas.counts,
    formerVersions,
    submitLimit: settings.rateLimits.submit,
    pressure: stores.intakeRefusal,
    mayHaveLegacyKeys: stores.mayHaveLegacyKeys,
    now,
    newId: newResponseId,
    findStored: (responseId) => lookupSemaphore.run(() => reading.trace(responseId)),
    restore: (evicted) => lookupSemaphore.run(() => restore(evicted)),
    findRecords: (hashes) => lookupSemaphore.run(() => stores.idempotencyRecords.find(hashes)),
    onBackgroundError: (error) =>
      log.warn({ err: error }, 'a survey with a full quota could not be closed yet; ingest will close it'),
  });
  return {
    actors,
    submit,
    /** Submissions a minute that a caller may send to a survey; the general limit for a survey that is not cached. */
    submissionLimitOf: (surveyId: string): number =>
      actors.peek(surveyId)?.survey.submissionRateLimit ?? settings.rateLimits.submit,
    now,
    reading,
    deadLetters,
    uploads,
    erasure,
    postgresFallback,
    invitations,
    formerVersions,
    collectorIdOf: createCollectorIds(surveys),
    currentSurvey: createCurrentSurvey({ actors, surveys, intake, postgresFallback }),
    /**
     * Subscribes to survey changes of other processes. Earlier notifications may have been lost, so all surveys become
     * stale.
     */
    subscribe: async (): Promise<void> => {
      messages.onReconnect(actors.markAllStale);
      await messages.subscribe(surveyChangesChannel, ({ surveyId, revision }) => {
        if (typeof surveyId === 'string' && typeof revision === 'number')
          actors.onRevisionPublished(surveyId, revision);
      });
      actors.markAllStale();
    },
    /** Calls the listener for every survey that any process has changed or deleted. Notifications may be lost. */
    onSurveyChanged: (listener: (surveyId: string) => void) =>
      messages.subscribe(surveyChangesChannel, ({ surveyId }) => {
        if (typeof surveyId === 'string') listener(surveyId);
      }),
    /** Calls the listener when notifications arrive again after a broken connection. */
    onSurveyChangesMissed: (listener: () => void): void => messages.onReconnect(listener),
    /** Exact count of accepted responses; the count in the survey's row while the intake is away. */
    responseCount: async (surveyId: string): Promise<number> => {
      const counts = await intake.counts(surveyId).catch(() => undefined);
      return counts?.total ?? surveys.responseCount(surveyId);
    },
  };
}

export type Core = ReturnType<typeof createCore>;
