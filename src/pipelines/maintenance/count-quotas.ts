import type { ConsistentReads } from '../../actors/consistent-reads.ts';
import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { CachedSurvey } from '../../actors/survey-cache.ts';
import { activeQuotas } from '../../domain/quotas/cell-quota.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { createAtMostOnce } from '../../platform/at-most-once.ts';
import { isAccessDenied } from '../../stores/clickhouse/errors.ts';
import type { LostPart, LostParts } from '../../stores/clickhouse/read/lost-parts.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import type { QuotaCounting } from '../../stores/redis/intake/quotas.ts';
import type { MissingResponses } from '../../stores/redis/intake/scripts.ts';
import { type CellCounts, type CountCellsDeps, countCells } from './count-cells.ts';

export interface CountQuotasDeps extends CountCellsDeps {
  actors: Pick<SurveyActors, 'sync'>;
  intake: Pick<Intake, 'freeze' | 'counts' | 'quotas'>;
  reading: Pick<ConsistentReads, 'caughtUp'>;
  surveys: Pick<SurveyStore, 'idsWithQuotas'>;
  lostParts: Pick<LostParts, 'find'>;
  metrics: Pick<Metrics, 'quotaDifference'>;
  log: Log;
  /** Aborted when the service stops: further surveys are counted after the next start. */
  stopping?: AbortSignal;
  monotonicMs?(): number;
  /** Default: longer than ingest and the beginning of a query take while the stores work normally. */
  freezeMs?: number;
}

const defaultFreezeMs = 8000;
/** How often the same number of missing responses of a survey is warned of. */
const warnEveryMs = 24 * 3600_000;
/**
 * Counting again after deletions, or to compare, takes at most `busyShare` of the time, with pauses of `minPauseMs` at
 * least. So does any count after one that failed, since submissions wait for each, but it is put off for `maxRetryMs`
 * at most, and for `maxFrozenRetryMs` where submissions are frozen until the quotas are counted.
 */
const [busyShare, minPauseMs, maxRetryMs, maxFrozenRetryMs] = [0.1, 5000, 30_000, 2000];

/**
 * Counts the stored responses of surveys in their quotas by cell: of quotas that are new or count something else, after
 * deletions, and from time to time to compare. Submissions are frozen until a snapshot of the response store has begun
 * that holds all that was accepted; from there on the intake notes what is added. A survey that fails is counted in the
 * next run. Where stored responses are missing a lower count would let too many in. While a part is lost (`lostParts`)
 * only quotas are counted that have no count yet; where fewer are stored than the intake has accepted, as after the loss
 * of the table, a count is lowered by no more than leaves the missing ones their seats.
 */
export function createCountQuotas(deps: CountQuotasDeps) {
  const { intake, log, monotonicMs = () => performance.now(), freezeMs = defaultFreezeMs } = deps;
  const isWarningDue = createAtMostOnce(monotonicMs);
  /** When a survey whose counts are only compared may be counted again. */
  const notBefore = new Map<string, number>();
  /** Surveys whose last count has failed, and how long the next one is put off. */
  const failures = new Map<string, { atMs: number; pauseMs: number }>();

  const isPutOff = async (surveyId: string): Promise<boolean> => {
    const failure = failures.get(surveyId);
    const sinceMs = failure ? monotonicMs() - failure.atMs : 0;
    if (!failure || sinceMs >= failure.pauseMs) return false;
    return sinceMs < maxFrozenRetryMs || !(await intake.quotas.areUnknown(surveyId));
  };

  const hasUncounted = async (surveyId: string): Promise<boolean> =>
    [...(await intake.quotas.counts(surveyId)).values()].some(({ isCounting }) => isCounting);

  const areCounted = async (surveyId: string): Promise<boolean> =>
    !(await hasUncounted(surveyId)) && !(await intake.quotas.areUnknown(surveyId));

  /** A quota that was added since the survey was read has asked for its count before the request is dropped. */
  const dropRequest = async (surveyId: string): Promise<void> => {
    await intake.quotas.dropRequest(surveyId);
    if (!(await areCounted(surveyId))) await intake.quotas.requestCount(surveyId);
  };

  const mayBegin = async (surveyId: string): Promise<boolean> => {
    if (await isPutOff(surveyId)) return false;
    if (monotonicMs() >= (notBefore.get(surveyId) ?? 0)) return true;
    return hasUncounted(surveyId);
  };

  /** Without the right to read the list of detached parts, quotas are counted as they were before it was looked at. */
  const areResponsesLost = async (): Promise<boolean> =>
    (await deps.lostParts.find().catch(noneWithoutAccess)).some(({ table }) => table === 'responses');

  /**
   * Deletions and requeued rows since `removals` was read may be why responses lack in the snapshot, or not: a further
   * count will tell.
   */
  const warnOfMissing = async (surveyId: string, missing: MissingResponses, removals: string): Promise<void> => {
    if (missing.total === 0 && missing.completed === 0) return;
    if ((await intake.quotas.removals(surveyId)) !== removals) return;
    if (!isWarningDue(`${surveyId} ${missing.total} ${missing.completed}`, warnEveryMs)) return;
    log.warn(
      { surveyId, missing },
      'fewer responses can be read than were accepted: the others keep their seats in quotas by cell',
    );
  };

  const countSurvey = async (surveyId: string): Promise<void> => {
    const cached = await deps.actors.sync(surveyId);
    if (!cached) return intake.quotas.dropRequest(surveyId);
    if (activeQuotas(cached.survey.quotas).length === 0) return dropRequest(surveyId);
    if (!(await mayBegin(surveyId))) return;
    const beganAt = monotonicMs();
    try {
      const isIncomplete = await areResponsesLost();
      if (isIncomplete && (await areCounted(surveyId))) {
        log.warn({ surveyId }, 'quotas by cell are not compared while ClickHouse holds a damaged part');
        await dropRequest(surveyId);
      } else await countFrozen(cached, isIncomplete);
      failures.delete(surveyId);
    } catch (error) {
      const pauseMs = Math.min(maxRetryMs, (monotonicMs() - beganAt) / busyShare);
      failures.set(surveyId, { atMs: monotonicMs(), pauseMs });
      throw error;
    } finally {
      const tookMs = monotonicMs() - beganAt;
      notBefore.set(surveyId, monotonicMs() + Math.max(minPauseMs, tookMs / busyShare));
    }
  };

  const countFrozen = async (cached: CachedSurvey, isIncomplete: boolean): Promise<void> => {
    const { survey } = cached;
    const surveyId = survey.id;
    const freeze = await intake.freeze(surveyId, freezeMs);
    if (!freeze) return;
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      if (!(await freeze.release())) throw new Error('submissions were accepted before the snapshot had begun');
    };
    try {
      const removals = await intake.quotas.removals(surveyId);
      // In this order: what was deleted before these were counted is not in the snapshot.
      const accepted = await intake.counts(surveyId);
      await deps.reading.caughtUp(surveyId);
      const counting = await intake.quotas.beginCount(surveyId, { frozen: freeze.frozen, removals });
      if (!counting) return;
      const counts = await countCells(deps, cached, {
        onBegun: release,
        beginMs: freezeMs,
        signal: deps.stopping,
      });
      const missing = missingIn(counts, accepted);
      await warnOfMissing(surveyId, missing, removals);
      const known = isIncomplete ? await intake.quotas.counts(surveyId) : undefined;
      const counted = countedQuotas(survey, counting, counts.cells).filter(
        ({ code }) => known?.get(code)?.isCounting ?? true,
      );
      const difference = await counting.end(counted, missing);
      if (difference === undefined) return;
      deps.metrics.quotaDifference(difference);
      if (difference > 0) log.error({ surveyId, difference }, 'quotas by cell differed from the stored responses');
    } finally {
      await release().catch(() => undefined);
    }
  };

  return {
    /** Counts what must be counted. */
    async run(): Promise<void> {
      for (const surveyId of await intake.quotas.surveysToCount()) {
        if (deps.stopping?.aborted) return;
        await countSurvey(surveyId).catch((error: unknown) =>
          log.warn({ err: error, surveyId }, 'the responses in quotas by cell could not be counted yet'),
        );
      }
    },
    /** Asks for all quotas to be compared with the stored responses. */
    async requestAll(): Promise<void> {
      for (const surveyId of await deps.surveys.idsWithQuotas()) await intake.quotas.requestCount(surveyId);
    },
  };
}

/**
 * Responses that were accepted before the snapshot and are not among the counted: ClickHouse has lost them, or their
 * rows are dead letters that cannot be read. One that lacks only the save which completed it adds to `completed` alone.
 */
const missingIn = (counts: CellCounts, accepted: Awaited<ReturnType<Intake['counts']>>): MissingResponses => ({
  total: Math.max(0, (accepted?.total ?? 0) - counts.total),
  completed: Math.max(0, (accepted?.completed ?? 0) - counts.completed),
});

function noneWithoutAccess(error: unknown): LostPart[] {
  if (!isAccessDenied(error)) throw error;
  return [];
}

/** Only quotas whose condition is the one that was counted. */
function countedQuotas(
  { quotas = [] }: SurveyWithQuestions,
  { versions }: QuotaCounting,
  counts: ReadonlyMap<number, number>,
) {
  return quotas
    .filter(({ code, version }) => versions.get(code) === version)
    .map(({ code, version }) => ({ code, version, count: counts.get(code) ?? 0 }));
}
