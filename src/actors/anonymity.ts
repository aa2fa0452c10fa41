import type { SurveyWithQuestions } from '../domain/survey.ts';
import { conflict, unavailable } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Intake } from '../stores/redis/intake.ts';
import type { SurveyChange, SurveyStore } from '../stores/postgres/surveys.ts';

export interface AnonymityDeps {
  intake: Pick<Intake, 'counts'>;
  /** Counts from the response store, for an intake that has forgotten a survey. */
  countResponses(surveyId: string): Promise<{ total: number; complete: number }>;
  change: SurveyStore['change'];
  announce(survey: SurveyWithQuestions): Promise<void>;
  log: Log;
}

type Decide = (current: SurveyWithQuestions) => SurveyChange | undefined;

/**
 * Saves changes of a survey, those that make it anonymous in two steps: first that alone, then, when the intake knows of it and there are
 * still no responses, everything else. Until the intake knows the new revision it takes submissions with a respondent, so only then can it
 * be said for good that there are none; what the change announces must not be out before. A refusal leaves nothing changed.
 */
export function createAnonymity({ intake, countResponses, change, announce, log }: AnonymityDeps) {
  const assertUnanswered = async (surveyId: string): Promise<void> => {
    const { total } = (await intake.counts(surveyId)) ?? (await countResponses(surveyId));
    if (total > 0) throw conflict('HAS_RESPONSES', 'The survey has responses, which may name their respondents: delete them first, or make a copy of the survey anonymous');
  };

  const takeBack = (surveyId: string): Promise<unknown> =>
    change(surveyId, (current) => (current.isAnonymous ? { survey: { ...current, isAnonymous: false }, isWordingChanged: false } : undefined)).catch((error: unknown) =>
      log.error({ err: error, surveyId }, 'a survey stays anonymous though the change that made it so was refused'),
    );

  return async (surveyId: string, decide: Decide): Promise<SurveyWithQuestions> => {
    let isFirstStep = false;
    const saved = await change(surveyId, async (current) => {
      const decided = decide(current);
      isFirstStep = decided?.survey.isAnonymous === true && !current.isAnonymous;
      if (!isFirstStep) return decided;
      await assertUnanswered(surveyId);
      return { survey: { ...current, isAnonymous: true }, isWordingChanged: false };
    });
    if (!isFirstStep) return saved;
    try {
      await announce(saved);
      await assertUnanswered(surveyId);
      return await change(surveyId, (current) => {
        if (!current.isAnonymous) throw unavailable('The survey is being changed too often right now', 1);
        return decide(current);
      });
    } catch (error) {
      await takeBack(surveyId);
      throw error;
    }
  };
}
