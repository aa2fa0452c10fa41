import { setTimeout as pause } from 'node:timers/promises';
import type { SurveyActors } from '../actors/surveys.ts';
import { meansTheSame } from '../domain/question-meaning.ts';
import type { Question, SurveyWithQuestions } from '../domain/survey.ts';
import { changedTooOften, conflict } from '../errors.ts';
import type { Hold, Intake } from '../stores/redis/intake.ts';

export interface WhileUnansweredDeps {
  actors: Pick<SurveyActors, 'sync'>;
  /** Whether any accepted response answers the question. */
  hasAnswers(question: Question): Promise<boolean>;
  holdBack: Intake['holdBack'];
}

/** Longer than looking for answers takes unless the stores are in trouble. */
const heldMs = 10_000;
/** The intake must know of the change before it lets submissions on by itself. */
const timeToSaveMs = heldMs - 3000;
const [triesAtMost, tryAgainMs] = [50, 100];

/**
 * Saves a change after which answers to the question would mean something else, or nothing: no submission is accepted meanwhile, so that
 * once no answers are found there are none for good. `save` must show `assertStill` the survey that it changes.
 */
export async function whileUnanswered(
  deps: WhileUnansweredDeps, before: Question, save: (assertStill: (current: SurveyWithQuestions) => void) => Promise<SurveyWithQuestions>,
): Promise<SurveyWithQuestions> {
  const heldAt = performance.now();
  const hold = await held(deps, before.surveyId);
  let isSaving = false;
  try {
    // Any revision that is announced from here on lets submissions on: then all is looked at again by who asks again.
    const now = await deps.actors.sync(before.surveyId);
    if (hold.revision !== undefined && hold.revision !== now?.survey.revision) throw changedTooOften('survey');
    if (await deps.hasAnswers(before)) throw conflict('HAS_RESPONSES', 'The question was answered in this moment, and stays as it was');
    return await save((current) => {
      const present = current.questions.find(({ id, isHidden }) => id === before.id && !isHidden);
      if (!present || !meansTheSame(before, present) || current.revision !== now?.survey.revision || performance.now() - heldAt > timeToSaveMs) throw changedTooOften('survey');
      isSaving = true;
    });
  } finally {
    // The announcement of the change lets them on; where that fails, or nobody knows what was saved, the hold ends by itself.
    if (!isSaving) await hold.letOn().catch(() => undefined);
  }
}

async function held({ holdBack }: WhileUnansweredDeps, surveyId: string): Promise<Hold> {
  for (let tries = 0; tries < triesAtMost; tries += 1) {
    const hold = await holdBack(surveyId, heldMs);
    if (hold) return hold;
    await pause(tryAgainMs);
  }
  throw changedTooOften('survey');
}
