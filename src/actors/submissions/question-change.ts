import { setTimeout as pause } from 'node:timers/promises';
import { meansTheSame } from '../../domain/questions/question-meaning.ts';
import type { Question, SurveyWithQuestions } from '../../domain/survey.ts';
import { conflict, tooManyConflicts } from '../../errors.ts';
import type { Intake, SurveyFreeze } from '../../stores/redis/intake/intake.ts';
import type { SurveyActors } from '../survey-actors.ts';

export interface SaveUnlessAnsweredDeps {
  actors: Pick<SurveyActors, 'sync'>;
  /** Whether any accepted response answers the question. */
  hasAnswers(question: Question): Promise<boolean>;
  freezeSubmissions: Intake['freeze'];
}

/** Longer than looking for answers takes unless the stores are in trouble. */
const freezeMs = 10_000;
/** The intake must know of the change before it lets submissions on by itself. */
const saveWithinMs = freezeMs - 3000;
const [maxTries, retryDelayMs] = [50, 100];

/**
 * Saves a change after which answers to the question would mean something else, or nothing: no submission is accepted meanwhile, so that
 * once no answers are found there are none for good. `save` must show `assertStill` the survey that it changes.
 */
export async function saveUnlessAnswered(
  deps: SaveUnlessAnsweredDeps,
  before: Question,
  save: (assertUnchanged: (current: SurveyWithQuestions) => void) => Promise<SurveyWithQuestions>,
): Promise<SurveyWithQuestions> {
  const frozenAtMs = performance.now();
  const freeze = await freezeWithRetry(deps, before.surveyId);
  let isSaving = false;
  try {
    // Any revision that is announced from here on lets submissions on: then all is looked at again by who asks again.
    const latest = await deps.actors.sync(before.surveyId);
    if (freeze.revision !== undefined && freeze.revision !== latest?.survey.revision) throw tooManyConflicts('survey');
    if (await deps.hasAnswers(before))
      throw conflict('HAS_RESPONSES', 'The question was answered in this moment, and stays as it was');
    return await save((current) => {
      const present = current.questions.find(({ id, isHidden }) => id === before.id && !isHidden);
      if (
        !present ||
        !meansTheSame(before, present) ||
        current.revision !== latest?.survey.revision ||
        performance.now() - frozenAtMs > saveWithinMs
      )
        throw tooManyConflicts('survey');
      isSaving = true;
    });
  } finally {
    // The announcement of the change lets them on; where that fails, or nobody knows what was saved, the hold ends by itself.
    if (!isSaving) await freeze.release().catch(() => undefined);
  }
}

async function freezeWithRetry({ freezeSubmissions }: SaveUnlessAnsweredDeps, surveyId: string): Promise<SurveyFreeze> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const freeze = await freezeSubmissions(surveyId, freezeMs);
    if (freeze) return freeze;
    await pause(retryDelayMs);
  }
  throw tooManyConflicts('survey');
}
