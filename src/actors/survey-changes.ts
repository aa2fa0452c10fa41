import { activeQuotas } from '../domain/quotas/cell-quota.ts';
import { isFilledByChange, isQuotaReached } from '../domain/quotas/quota.ts';
import type { SurveyStatus, SurveyWithQuestions } from '../domain/survey.ts';
import type { Log } from '../log.ts';
import type { Audit } from '../stores/postgres/audit.ts';
import type { Tx } from '../stores/postgres/client.ts';
import type { SurveyChange, SurveyStore } from '../stores/postgres/surveys.ts';
import type { Filling, Intake } from '../stores/redis/intake/intake.ts';
import { createAnonymity } from './anonymity.ts';
import type { SurveyAnnouncements } from './survey-announcements.ts';
import type { SurveyCache } from './survey-cache.ts';
import type { SurveyEvent } from './survey-machine.ts';
import { transitionSurvey, withQuotaRaised } from './survey-transitions.ts';

export interface SurveyChangesDeps {
  cache: Pick<SurveyCache, 'put'>;
  surveys: Pick<SurveyStore, 'change'>;
  intake: Pick<Intake, 'counts' | 'filling'>;
  announcements: Pick<SurveyAnnouncements, 'announce' | 'announceLater'>;
  /** Counts from the response store, for surveys that the intake does not know. */
  countResponses(surveyId: string): Promise<{ total: number; complete: number }>;
  audit: Pick<Audit, 'record'>;
  now(): number;
  log: Log;
}

/** The survey as a caller edits it, with what is saved beside it. */
export type SurveyEdit = Pick<SurveyChange, 'survey' | 'alsoSave'>;
type Edit = (current: SurveyWithQuestions, tx: Tx) => SurveyEdit | Promise<SurveyEdit>;
type Counts = Awaited<ReturnType<Intake['counts']>>;

/**
 * Facts for a decision beside the row. `counts` is undefined if the intake does not know the survey or is away, which is
 * no obstacle to what a caller sets.
 */
interface QuotaFacts {
  counts: Counts;
  filling: Filling | undefined;
  nowMs: number;
}

/** Saves changes of surveys: the row in PostgreSQL first, then this process, the intake and the other processes. */
export function createSurveyChanges(deps: SurveyChangesDeps) {
  const { intake, announcements, now, log } = deps;

  const change: SurveyStore['change'] = async (surveyId, decide, options) => {
    let isOpened = false;
    const decideNoted: typeof decide = async (current, tx) => {
      isOpened = current.status === 'CLOSED' || current.status === 'DRAFT';
      return decide(current, tx);
    };
    const survey = await deps.surveys.change(surveyId, decideNoted, options);
    deps.cache.put(survey);
    await announcements.announceLater(survey, { isOpened });
    return survey;
  };

  const saveWithAnonymity = createAnonymity({ ...deps, change, announce: announcements.announce });

  /**
   * Facts about a last seat that is said to be taken: they alone decide, so this throws where the intake cannot be
   * asked, and ingest tries again. An intake that was emptied knows no more than what is stored.
   */
  const factsOfFilling = async (surveyId: string): Promise<Omit<QuotaFacts, 'nowMs'>> => {
    const [known, filling] = await Promise.all([intake.counts(surveyId), intake.filling(surveyId)]);
    if (known) return { counts: known, filling };
    const { total, complete } = await deps.countResponses(surveyId);
    return { counts: { total, completed: complete }, filling };
  };

  /**
   * Saves what an event, and an edit before it, make of a survey; a survey that closes by itself is noted in the audit
   * log.
   */
  const applyEvent = async (surveyId: string, event: SurveyEvent, edit: Edit = unchanged) => {
    const facts =
      event.type === 'QUOTA_FILLED'
        ? await factsOfFilling(surveyId)
        : { counts: await intake.counts(surveyId).catch(() => undefined), filling: undefined };
    let before: SurveyStatus | undefined;
    let decided: SurveyChange | undefined;
    const saved = await saveWithAnonymity(surveyId, async (current, tx) => {
      before = current.status;
      const given = await edit(current, tx);
      decided = decideEvent(current, given, event, { ...facts, nowMs: now() });
      return decided;
    });
    const { status, closedReason } = saved;
    if (decided && before !== undefined && isClosedByItself(decided.survey, before))
      await deps.audit.record({
        actor: null,
        action: 'survey.closed',
        objectKind: 'survey',
        objectId: surveyId,
        details: { status: { from: before, to: status }, reason: closedReason },
      });
    return saved;
  };

  /**
   * Closes a survey whose last seat was taken before the intake knew the quota, and therefore did not notice it, or
   * that a quota by cell has filled under the revision before.
   */
  const closeIfFull = async (survey: SurveyWithQuestions): Promise<SurveyWithQuestions> => {
    const { id, responseQuota, status } = survey;
    if (status !== 'ACTIVE' || (responseQuota === null && activeQuotas(survey.quotas).length === 0)) return survey;
    const [counts, filling] = await Promise.all([intake.counts(id), intake.filling(id)]);
    const isFull = counts !== undefined && isQuotaReached(responseQuota, counts.completed);
    return isFull || filling?.revision === survey.revision ? applyEvent(id, { type: 'QUOTA_FILLED' }) : survey;
  };

  /** Saves, then compares the quota. A failure of the comparison is left to the outbox, since the change is saved. */
  const applyAndClose = async (surveyId: string, event: SurveyEvent, edit?: Edit): Promise<SurveyWithQuestions> => {
    const saved = await applyEvent(surveyId, event, edit);
    return closeIfFull(saved).catch((error: unknown) => {
      log.warn(
        { err: error, surveyId },
        'the quota of a changed survey could not be compared; the outbox will compare it',
      );
      return saved;
    });
  };

  return {
    change,
    closeIfFull,
    setStatus: (surveyId: string, status: SurveyStatus, by: 'update' | 'publish', edit?: Edit) =>
      applyAndClose(surveyId, { type: 'SET_STATUS', status, by, isFull: false, nowMs: now() }, edit),
    /** Changes fields beside the status; a new end time or quota may close the survey at once. */
    edit: (surveyId: string, edit: Edit) => applyAndClose(surveyId, { type: 'TIME_REACHED', nowMs: now() }, edit),
    timeReached: (surveyId: string) => applyEvent(surveyId, { type: 'TIME_REACHED', nowMs: now() }),
    quotaFilled: (surveyId: string) => applyEvent(surveyId, { type: 'QUOTA_FILLED' }),
  };
}

const unchanged: Edit = (survey) => ({ survey });

const isClosedByItself = ({ status, closedReason }: SurveyWithQuestions, before: SurveyStatus): boolean =>
  before !== 'CLOSED' && status === 'CLOSED' && closedReason !== 'MANUAL';

/** What is saved of a survey after an edit and an event; undefined where nothing changes. */
function decideEvent(
  current: SurveyWithQuestions,
  { survey: given, alsoSave }: SurveyEdit,
  event: SurveyEvent,
  { counts, filling, nowMs }: QuotaFacts,
): SurveyChange | undefined {
  const isFull = counts !== undefined && isQuotaReached(given.responseQuota, counts.completed);
  const edited = withQuotaRaised(given, current, isFull || counts === undefined);
  // Also if a deletion has freed a seat since: a survey that was filled under this revision takes no more submissions.
  const wasFilled = filling?.revision === current.revision;
  if (event.type === 'QUOTA_FILLED' && !isFull && !wasFilled) return undefined;
  const events: SurveyEvent[] = [event.type === 'SET_STATUS' ? { ...event, isFull } : event];
  const isLowered =
    counts !== undefined && isFilledByChange(current.responseQuota, edited.responseQuota, counts.completed);
  if (event.type === 'TIME_REACHED' && isLowered) events.push({ type: 'QUOTA_FILLED' });
  // A quota by cell that closes the survey was announced by itself.
  const isByCell = !isFull && !(wasFilled && filling.isByQuota);
  const completed = (wasFilled ? undefined : counts?.completed) ?? edited.responseQuota ?? 0;
  const result = transitionSurvey(edited, events, { nowMs, completed, isByCell });
  if (!result.isChanged && edited === current) return undefined;
  return {
    survey: result.survey,
    isWordingChanged:
      edited.title !== current.title ||
      edited.description !== current.description ||
      edited.language !== current.language ||
      (edited.isShuffled ?? false) !== (current.isShuffled ?? false),
    events: result.events,
    alsoSave,
  };
}
