import type { SurveyWithQuestions } from '../domain/survey.ts';
import { conflict, tooManyConflicts } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Tx } from '../stores/postgres/client.ts';
import type { SurveyChange, SurveyStore } from '../stores/postgres/surveys.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';

export interface AnonymityDeps {
  intake: Pick<Intake, 'counts'>;
  /** Counts from the response store, for a survey that the intake does not know. */
  countResponses(surveyId: string): Promise<{ total: number; complete: number }>;
  change: SurveyStore['change'];
  announce(survey: SurveyWithQuestions): Promise<void>;
  now(): number;
  log: Log;
}

/** Whose first step of making the survey anonymous is pending: nobody's, this caller's, or another's. */
type PendingStep = 'none' | 'own' | 'other';

type Decide = (current: SurveyWithQuestions, tx: Tx) => Promise<SurveyChange | undefined>;

/** Attempts while others change the survey too. */
const maxTries = 5;

/**
 * Saves changes of a survey; a change that makes it anonymous takes two steps. The first saves `isAnonymous` alone. The
 * second saves everything else, after the new revision was announced to the intake and there are still no responses:
 * until then the intake accepts submissions with a respondent. Events of the change are written with the second step. A
 * refusal reverts the first step. A caller that finds a survey between the steps completes or reverts the first step
 * itself, because the process that began may have died.
 */
export function createAnonymity({ intake, countResponses, change, announce, now, log }: AnonymityDeps) {
  const isUnanswered = async (surveyId: string): Promise<boolean> =>
    ((await intake.counts(surveyId)) ?? (await countResponses(surveyId))).total === 0;

  /** Notes until when the survey was anonymous, so that nobody is named afterwards in a response that was begun before. */
  const withEndNoted = <T extends SurveyChange | undefined>(current: SurveyWithQuestions, decided: T): T =>
    current.isAnonymous && decided?.survey.isAnonymous === false
      ? { ...decided, survey: { ...decided.survey, anonymousUntil: new Date(now()) } }
      : decided;

  /**
   * Saves the change if one step is enough, otherwise takes the first step; `pending`: whose first step is pending
   * then.
   */
  const begin = async (
    surveyId: string,
    decide: Decide,
  ): Promise<{ saved: SurveyWithQuestions; pending: PendingStep }> => {
    let pending: PendingStep = 'none';
    const saved = await change(surveyId, async (current, tx) => {
      pending = isAnonymityPending(current) ? 'other' : 'none';
      if (pending === 'other') return undefined;
      const decided = await decide(current, tx);
      if (decided?.survey.isAnonymous !== true || current.isAnonymous) return withEndNoted(current, decided);
      if (!(await isUnanswered(surveyId))) throw hasResponses();
      pending = 'own';
      return {
        survey: { ...current, isAnonymous: true, anonymityBegun: current.revision + 1 },
        isWordingChanged: false,
      };
    });
    return { saved, pending };
  };

  const finish = (
    begun: SurveyWithQuestions,
    decide: Decide,
    pending: Exclude<PendingStep, 'none'>,
  ): Promise<SurveyWithQuestions> =>
    change(begun.id, async (current, tx) => {
      // After a revert and a new first step by others, respondents may have been named in between.
      if (!current.isAnonymous || (isAnonymityPending(current) && current.anonymityBegun !== begun.anonymityBegun))
        throw tooManyConflicts('survey');
      // What a survey that becomes anonymous may not have was still allowed before the own first step.
      const before = pending === 'own' ? { ...current, isAnonymous: false } : current;
      const decided = (await decide(before, tx)) ?? { survey: current, isWordingChanged: false };
      return withEndNoted(current, { ...decided, survey: { ...decided.survey, anonymityBegun: null } });
    });

  /** Reverts the first step if it is still pending, however late. Returns whether it was. */
  const revert = async (begun: SurveyWithQuestions): Promise<boolean> => {
    let isReverted = false;
    const undo: Decide = async (current) => {
      isReverted = isAnonymityPending(current) && current.anonymityBegun === begun.anonymityBegun;
      return isReverted
        ? { survey: { ...current, isAnonymous: false, anonymityBegun: null }, isWordingChanged: false }
        : undefined;
    };
    await change(begun.id, undo, { mayBeLate: true }).catch((error: unknown) =>
      log.error(
        { err: error, surveyId: begun.id },
        'a survey is still anonymous, or for a while, though the change that made it so was refused',
      ),
    );
    return isReverted;
  };

  return async (surveyId: string, decide: Decide): Promise<SurveyWithQuestions> => {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const { saved, pending } = await begin(surveyId, decide);
      if (pending === 'none') return saved;
      try {
        await announce(saved);
        if (await isUnanswered(surveyId)) return await finish(saved, decide, pending);
      } catch (error) {
        if (pending === 'own') await revert(saved);
        throw error;
      }
      // Where this revert finds nothing pending, another process has reverted or completed the step: try again.
      if ((await revert(saved)) && pending === 'own') throw hasResponses();
    }
    throw tooManyConflicts('survey');
  };
}

const isAnonymityPending = ({ isAnonymous, anonymityBegun }: SurveyWithQuestions): boolean =>
  isAnonymous && (anonymityBegun ?? null) !== null;
const hasResponses = () =>
  conflict(
    'HAS_RESPONSES',
    'The survey has responses, which may name their respondents: delete them first, or make a copy of the survey anonymous',
  );
