import { createGate } from '../gate.ts';
import { newResponseId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Secrets } from '../secrets.ts';
import type { Settings } from '../settings.ts';
import type { Stores } from '../stores/stores.ts';
import { createAudit } from '../stores/postgres/audit.ts';
import { retentionRules } from '../stores/postgres/retention.ts';
import { createBuriedLetters } from './buried-letters.ts';
import { createCurrentSurvey } from './current-survey.ts';
import { createErasing } from './erasing.ts';
import { createRecall } from './kept-state.ts';
import { createReading } from './reading.ts';
import { createUploads } from '../stores/uploads.ts';
import { createSubmissions } from './submissions.ts';
import { createSurveyActors } from './surveys.ts';
import { createWhileAway } from './while-away.ts';

export interface CoreOptions {
  settings: Settings;
  stores: Stores;
  metrics: Metrics;
  secrets: Secrets;
  log: Log;
}

const surveyChannel = 'survey:changed';
/** Of ids that respondents name, which anybody may do. */
const lookUps = { atOnce: 16, waiting: 64, retryAfterSeconds: 1, refusal: 'Too many responses are being looked up right now' };

/** What every role needs: the survey actors, and the ways to submit and to read. */
export function createCore({ settings, stores, metrics, secrets, log }: CoreOptions) {
  const now = () => Date.now();
  const { surveys, intake, responses, stream, shards, messages } = stores;
  const audit = createAudit(stores.sql, log);
  const whileAway = createWhileAway({ log });
  const actors = createSurveyActors({
    surveys, intake, definitions: stores.definitions, whileAway, audit, now, log, metrics,
    countResponses: async (surveyId) => (await responses.countOf([surveyId])).get(surveyId) ?? { total: 0, complete: 0 },
    broadcast: (surveyId, revision) => messages.publish(surveyChannel, { surveyId, revision }),
  });
  const buried = createBuriedLetters({ stream, shards });
  const reading = createReading({ responses, stream, buried, shards });
  const uploads = createUploads({ rows: stores.uploadRows, storage: stores.uploadStorage, now, isResponseThere: reading.isAccepted });
  const erasing = createErasing({
    intake, responses, reading, uploads, buried, uploadRows: stores.uploadRows, findings: stores.findings, exports: stores.exports, exportFiles: stores.exportFiles, audit, now,
    rules: (at) => retentionRules(stores.sql, settings.retentionDays, at),
  });
  const recall = createRecall({ responses, buried, reading });
  const lookUpGate = createGate(lookUps);
  const submit = createSubmissions({
    actors, intake, uploads, secrets, submitLimit: settings.rateLimits.submit, pressure: stores.pressure.refusal, isFormerKnown: stores.isFormerKnown, now, newId: newResponseId,
    findStored: (responseId) => lookUpGate.run(() => reading.trace(responseId)),
    recall: (forgotten) => lookUpGate.run(() => recall(forgotten)),
    findRecords: (hashes) => lookUpGate.run(() => stores.idempotencyRecords.find(hashes)),
    onBackgroundError: (error) => log.warn({ err: error }, 'a filled survey could not be closed yet; the ingest will'),
  });
  return {
    actors, submit, now, reading, uploads, erasing, whileAway,
    currentSurvey: createCurrentSurvey({ actors, surveys, intake, whileAway }),
    /** Hears of changes that other processes make, once this has resolved; those of before may have been missed. */
    listen: async (): Promise<void> => {
      messages.onGap(actors.doubt);
      await messages.subscribe(surveyChannel, ({ surveyId, revision }) => {
        if (typeof surveyId === 'string' && typeof revision === 'number') actors.heard(surveyId, revision);
      });
      actors.doubt();
    },
    /** Tells of every survey that was changed or deleted, by whatever process. News may be lost. */
    onSurveyChanged: (tell: (surveyId: string) => void) =>
      messages.subscribe(surveyChannel, ({ surveyId }) => {
        if (typeof surveyId === 'string') tell(surveyId);
      }),
    /** Exact count of accepted responses; the saved one while the intake cannot be asked. */
    responseCount: async (surveyId: string): Promise<number> => {
      const counts = await intake.counts(surveyId).catch(() => undefined);
      return counts?.total ?? surveys.responseCount(surveyId);
    },
  };
}

export type Core = ReturnType<typeof createCore>;
