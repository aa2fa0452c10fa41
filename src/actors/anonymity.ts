import type { SurveyWithQuestions } from '../domain/survey.ts';
import { conflict, tooManyConflicts } from '../errors.ts';
import type { Log } from '../log.ts';
import type { SurveyChange, SurveyStore } from '../stores/postgres/surveys.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';

export interface AnonymityDeps {
  intake: Pick<Intake, 'counts'>;
  /** Counts from the response store, for an intake that has forgotten a survey. */
  countResponses(surveyId: string): Promise<{ total: number; complete: number }>;
  change: SurveyStore['change'];
  announce(survey: SurveyWithQuestions): Promise<void>;
  log: Log;
}

type Decide = (current: SurveyWithQuestions) => SurveyChange | undefined;

/** Changes beside each other, before one is told to come again. */
const maxTries = 5;

/**
 * Saves changes of a survey, those that make it anonymous in two steps: first that alone, then, when the intake knows of it and there are
 * still no responses, everything else. Until the intake knows the new revision it takes submissions with a respondent, so only then can it
 * be said for good that there are none; what the change announces must not be out before. A refusal leaves nothing changed. Whoever meets
 * a survey between the two steps makes sure of it by himself before he changes anything: the one that began may take it back, or be gone.
 */
export function createAnonymity({ intake, countResponses, change, announce, log }: AnonymityDeps) {
  const isUnanswered = async (surveyId: string): Promise<boolean> =>
    ((await intake.counts(surveyId)) ?? (await countResponses(surveyId))).total === 0;

  /** Takes the first step, unless there are two to take; tells which one is open then. */
  const begin = async (
    surveyId: string,
    decide: Decide,
  ): Promise<{ saved: SurveyWithQuestions; open: 'none' | 'own' | 'met' }> => {
    let open: 'none' | 'own' | 'met' = 'none';
    const saved = await change(surveyId, async (current) => {
      open = isAnonymityPending(current) ? 'met' : 'none';
      if (open === 'met') return undefined;
      const decided = decide(current);
      if (decided?.survey.isAnonymous !== true || current.isAnonymous) return decided;
      if (!(await isUnanswered(surveyId))) throw hasResponses();
      open = 'own';
      return {
        survey: { ...current, isAnonymous: true, anonymityBegun: current.revision + 1 },
        isWordingChanged: false,
      };
    });
    return { saved, open };
  };

  const finish = (begun: SurveyWithQuestions, decide: Decide): Promise<SurveyWithQuestions> =>
    change(begun.id, (current) => {
      // Between another's step back and a new beginning, respondents may have been named.
      if (!current.isAnonymous || (isAnonymityPending(current) && current.anonymityBegun !== begun.anonymityBegun))
        throw tooManyConflicts('survey');
      const decided = decide(current) ?? { survey: current, isWordingChanged: false };
      return { ...decided, survey: { ...decided.survey, anonymityBegun: null } };
    });

  /** Takes back the first step, if that is still open. Whether it was. */
  const revert = async (begun: SurveyWithQuestions): Promise<boolean> => {
    let isReverted = false;
    await change(begun.id, (current) => {
      isReverted = isAnonymityPending(current) && current.anonymityBegun === begun.anonymityBegun;
      return isReverted
        ? { survey: { ...current, isAnonymous: false, anonymityBegun: null }, isWordingChanged: false }
        : undefined;
    }).catch((error: unknown) =>
      log.error(
        { err: error, surveyId: begun.id },
        'a survey stays anonymous though the change that made it so was refused',
      ),
    );
    return isReverted;
  };

  return async (surveyId: string, decide: Decide): Promise<SurveyWithQuestions> => {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const { saved, open } = await begin(surveyId, decide);
      if (open === 'none') return saved;
      try {
        await announce(saved);
        if (await isUnanswered(surveyId)) return await finish(saved, decide);
      } catch (error) {
        if (open === 'own') await revert(saved);
        throw error;
      }
      // Not taken back by us: another did, or made sure of it before there were responses.
      if ((await revert(saved)) && open === 'own') throw hasResponses();
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
