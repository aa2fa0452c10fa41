import type { ConsistentReads } from '../../actors/consistent-reads.ts';
import type { CachedSurvey } from '../../actors/survey-cache.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { createAtMostOnce } from '../../platform/at-most-once.ts';
import { isAccessDenied } from '../../stores/clickhouse/errors.ts';
import type { LostPart, LostParts } from '../../stores/clickhouse/read/lost-parts.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import type { QuotaCounting } from '../../stores/redis/intake/quotas.ts';
import type { MissingResponses } from '../../stores/redis/intake/scripts.ts';
import { type CellCounts, type CountCellsDeps, countCells } from './count-cells.ts';

export interface CountQuotasDeps extends CountCellsDeps {
  intake: Pick<Intake, 'freeze' | 'counts' | 'quotas'>;
  reading: Pick<ConsistentReads, 'caughtUp'>;
  lostParts: Pick<LostParts, 'find'>;
  metrics: Pick<Metrics, 'quotaDifference'>;
  log: Log;
  /** Aborted when the service stops: the count is given up. */
  stopping?: AbortSignal;
  monotonicMs?(): number;
  /** Default: longer than ingest and the beginning of a query take while the stores work normally. */
  freezeMs?: number;
}

const defaultFreezeMs = 8000;
/** How often the same number of missing responses of a survey is warned of. */
const warnEveryMs = 24 * 3600_000;

/**
 * Makes what counts the stored responses of a survey in its quotas by cell; `count-turns.ts` says when. Submissions are
 * frozen until a snapshot of the response store has begun that holds all that was accepted; from there on the intake
 * notes what is added. Where stored responses are missing a lower count would let too many in. While a part is lost
 * (`lostParts`) only quotas are counted that have no count yet; where fewer are stored than the intake has accepted, as
 * after the loss of the table, a count is lowered by no more than leaves the missing ones their seats.
 */
export function createCountQuotas(deps: CountQuotasDeps) {
  const { intake, log, monotonicMs = () => performance.now(), freezeMs = defaultFreezeMs } = deps;
  const isWarningDue = createAtMostOnce(monotonicMs);

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

  /** Counts a survey that has active quotas. Returns false where its counts cannot be compared now. */
  return async (cached: CachedSurvey): Promise<boolean> => {
    const surveyId = cached.survey.id;
    const isIncomplete = await areResponsesLost();
    if (isIncomplete && (await intake.quotas.areCounted(surveyId))) {
      log.warn({ surveyId }, 'quotas by cell are not compared while ClickHouse holds a damaged part');
      return false;
    }
    await countFrozen(cached, isIncomplete);
    return true;
  };
}

export type CountQuotas = ReturnType<typeof createCountQuotas>;

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
