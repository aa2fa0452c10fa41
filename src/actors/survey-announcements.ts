import { indexCollectors } from '../domain/collectors/survey-collectors.ts';
import { activeQuotas } from '../domain/quotas/cell-quota.ts';
import type { SurveyWithQuestions } from '../domain/survey.ts';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import { type AnnouncedSurvey, deletedRevision, type Intake } from '../stores/redis/intake/intake.ts';
import type { StoredDefinitions } from './stored-definitions.ts';
import type { SurveyCache } from './survey-cache.ts';

/**
 * Counts from the response store, for surveys that the intake does not know; with the position of the collector's code
 * also complete responses by collector.
 */
export type CountResponses = (
  surveyId: string,
  collectorSlot?: number | null,
) => Promise<{ total: number; complete: number; completeByCollector?: ReadonlyMap<number, number> }>;

export interface SurveyAnnouncementsDeps {
  cache: Pick<SurveyCache, 'put' | 'evict'>;
  surveys: Pick<SurveyStore, 'change'>;
  intake: Pick<Intake, 'announce' | 'restoreDeleted' | 'revision' | 'counts' | 'markDeleted'>;
  storedDefinitions: Pick<StoredDefinitions, 'save' | 'remove'>;
  countResponses: CountResponses;
  /** Notifies the other processes that a survey has a new revision. */
  broadcast(surveyId: string, revision: number): void;
  log: Log;
}

/**
 * Announces surveys: the intake must know the revision in force, the other processes are notified. What fails is
 * repeated by the outbox.
 */
export function createSurveyAnnouncements(deps: SurveyAnnouncementsDeps) {
  const { cache, intake, storedDefinitions, broadcast, log } = deps;

  /** Facts for the intake; it uses the counts only if it does not know the survey. */
  const factsOf = async (survey: SurveyWithQuestions, isOpened = false): Promise<AnnouncedSurvey> => {
    const known = await intake.counts(survey.id);
    const stored = known ? undefined : await deps.countResponses(survey.id, survey.collectorSlot ?? null);
    const collectors = indexCollectors(survey).isCounted ? (survey.collectors ?? []) : [];
    return {
      surveyId: survey.id,
      revision: survey.revision,
      quota: survey.responseQuota,
      codePositions: survey.slotCounts.codes,
      total: known?.total ?? stored?.total ?? 0,
      completed: known?.completed ?? stored?.complete ?? 0,
      isClosable: !isOpened && (survey.status === 'ACTIVE' || survey.status === 'PAUSED'),
      collectors: collectors.map(({ code, responseQuota }) => ({
        code,
        quota: responseQuota,
        completed: stored?.completeByCollector?.get(code) ?? 0,
      })),
      cellQuotas: activeQuotas(survey.quotas),
    };
  };

  /**
   * Writes the present revision to the intake, and the definition if the survey is open. `isOpened`: this revision has
   * opened the survey, whose closing may not be announced yet.
   */
  const announce = async (survey: SurveyWithQuestions, { isOpened = false } = {}): Promise<void> => {
    const isNew = await intake.announce(await factsOf(survey, isOpened));
    await storedDefinitions.save(survey);
    if (isNew || !(await repairSuperseded(survey))) broadcast(survey.id, survey.revision);
  };

  /**
   * Saves a revision beyond the one that the intake knows, and a version beyond those that were lost with it, of which
   * there are no more than lost revisions. Returns the survey if its row was superseded.
   */
  const overrule = async (surveyId: string, knownRevision: number): Promise<SurveyWithQuestions | undefined> => {
    let isSuperseded = false;
    const saved = await deps.surveys.change(surveyId, async (current) => {
      isSuperseded = current.revision < knownRevision;
      if (!isSuperseded) return undefined;
      if (knownRevision !== deletedRevision) {
        const version = current.version + knownRevision - current.revision;
        return { survey: { ...current, revision: knownRevision, version }, isWordingChanged: true };
      }
      // While the row is locked nobody can delete the survey again.
      await intake.restoreDeleted(await factsOf(current));
      return undefined;
    });
    if (!isSuperseded) return undefined;
    const lost = knownRevision === deletedRevision ? { wasDeleted: true } : { lost: knownRevision };
    log.error(
      { surveyId, revision: saved.revision, ...lost },
      'PostgreSQL is older than the intake, as after a restore: the survey continues as PostgreSQL has it',
    );
    return saved;
  };

  /**
   * Repairs a survey whose row is older than the revision that the intake knows: PostgreSQL was restored from a backup.
   * In every other case a locked row is at least as new, since a revision is announced only after it is saved. The
   * survey continues with a revision beyond all known ones, so that a late notification of a lost one cannot be taken
   * for a newer survey. Returns whether it was repaired.
   */
  const repairSuperseded = async ({ id, revision }: Pick<SurveyWithQuestions, 'id' | 'revision'>): Promise<boolean> => {
    const knownRevision = await intake.revision(id);
    if (knownRevision === undefined || knownRevision <= revision) return false;
    const repaired = await overrule(id, knownRevision).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'NOT_FOUND') return undefined;
      throw error;
    });
    if (!repaired) return false;
    cache.put(repaired);
    await announce(repaired);
    return true;
  };

  /** Announces, and leaves a failure to the outbox. */
  const announceLater = (survey: SurveyWithQuestions, change: { isOpened?: boolean } = {}): Promise<void> =>
    announce(survey, change).catch((error: unknown) =>
      log.warn(
        { err: error, surveyId: survey.id },
        'a revision could not be announced; the outbox or the next submission will announce it',
      ),
    );

  return {
    announce,
    announceLater,
    /**
     * For whoever reads counts of the intake: announces a survey that it does not know, as after a restore with an
     * empty one. A closed survey gets no submission that would do it.
     */
    async announceUnknown(survey: SurveyWithQuestions): Promise<void> {
      if (!(await intake.counts(survey.id))) await announceLater(survey);
    },
    repairSuperseded,
    /** A deleted survey takes no submissions from now on. */
    async remove(surveyId: string): Promise<void> {
      cache.evict(surveyId);
      await Promise.all([intake.markDeleted(surveyId), storedDefinitions.remove(surveyId)]).catch((error: unknown) =>
        log.warn({ err: error, surveyId }, 'a deletion could not be announced; the outbox will announce it'),
      );
      broadcast(surveyId, deletedRevision);
    },
  };
}

export type SurveyAnnouncements = ReturnType<typeof createSurveyAnnouncements>;
