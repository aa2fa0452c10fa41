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

/** Longer than the search for answers takes while the stores work normally. */
const freezeMs = 10_000;
/** The change must be announced to the intake before the freeze ends by itself. */
const saveWithinMs = freezeMs - 3000;
const [maxTries, retryDelayMs] = [50, 100];

/**
 * Saves a change after which answers to the question would mean something else, or nothing. Submissions are frozen
 * meanwhile, so that no answer can arrive after the search for answers. `save` must call `assertUnchanged` with the
 * survey that it changes. Throws HAS_RESPONSES if there is an answer, SERVICE_UNAVAILABLE after too many concurrent
 * changes.
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
    // A revision that is announced from here on ends the freeze; `assertUnchanged` notices it, and the caller must
    // retry.
    const latest = await deps.actors.sync(before.surveyId);
    if (freeze.revision !== undefined && freeze.revision !== latest?.survey.revision) throw tooManyConflicts('survey');
    if (await deps.hasAnswers(before))
      throw conflict('HAS_RESPONSES', 'The question was answered just now, so it was not changed');
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
    // After a save, the announcement of the change ends the freeze; if that fails, it ends after `freezeMs`.
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
