import { setTimeout as pause } from 'node:timers/promises';
import { meansTheSame } from '../../domain/questions/question-meaning.ts';
import type { Question, SurveyWithQuestions } from '../../domain/survey.ts';
import { conflict, tooManyConflicts } from '../../errors.ts';
import type { Intake, SurveyFreeze } from '../../stores/redis/intake/intake.ts';
import type { SurveyActors } from '../survey-actors.ts';

export interface SaveUnlessAnsweredDeps {
  actors: Pick<SurveyActors, 'sync' | 'announce' | 'change'>;
  /** Whether any accepted response answers the question. */
  hasAnswers(question: Question): Promise<boolean>;
  freezeSubmissions: Intake['freeze'];
}

/** Longer than the search for answers takes while the stores work normally. */
const freezeMs = 10_000;
/** From the last check on, until the change is announced or is known to have failed: a commit may take long. */
const savingFreezeMs = 60_000;
const [maxTries, retryDelayMs] = [50, 100];
const settleDelayMs = 1000;

/**
 * Saves a change after which answers to the question would mean something else, or nothing. Submissions are frozen
 * meanwhile, so that no answer can arrive after the search for answers. `save` must call `assertUnchanged` with the
 * survey that it changes, in the transaction and when nothing else can refuse the change. Throws HAS_RESPONSES if there
 * is an answer, SERVICE_UNAVAILABLE after too many concurrent changes, or where the freeze was over before the check.
 *
 * The limit: a change that is saved and not announced within a minute of the last check lets answers to the former
 * question in (docs/decisions/009-answers-by-meaning.md).
 */
export async function saveUnlessAnswered<Saved>(
  deps: SaveUnlessAnsweredDeps,
  before: Question,
  save: (assertUnchanged: (current: SurveyWithQuestions) => Promise<void>) => Promise<Saved>,
): Promise<Saved> {
  const { freeze, frozenAtMs } = await freezeWithRetry(deps, before.surveyId);
  let unsavedRevision: number | undefined;
  try {
    // A revision that is announced from here on ends the freeze; `assertUnchanged` notices it, and the caller must
    // retry.
    const latest = await deps.actors.sync(before.surveyId);
    if (freeze.revision !== undefined && freeze.revision !== latest?.survey.revision) throw tooManyConflicts('survey');
    // Only a revision that follows a known one ends the freeze.
    if (freeze.revision === undefined && latest) await deps.actors.announce(latest.survey);
    if (await deps.hasAnswers(before))
      throw conflict('HAS_RESPONSES', 'The question was answered just now, so it was not changed');
    return await save(async (current) => {
      const present = current.questions.find(({ id, isHidden }) => id === before.id && !isHidden);
      if (!present || !meansTheSame(before, present) || current.revision !== latest?.survey.revision)
        throw tooManyConflicts('survey');
      unsavedRevision = current.revision;
      // The clock of the intake alone is not trusted: after it was set back, a freeze that was over looks as if it lasted.
      const isOver = performance.now() - frozenAtMs > freezeMs;
      if (isOver || !(await freeze.extend(savingFreezeMs))) throw tooManyConflicts('survey');
    });
  } catch (error) {
    if (unsavedRevision === undefined) await freeze.release().catch(() => undefined);
    else void settle(deps, { surveyId: before.surveyId, unsavedRevision, freeze });
    throw error;
  }
}

/**
 * Ends the freeze after a failure that does not say whether the change was saved: the transaction may go on, or be
 * committed already. It holds the lock of the survey until it has ended, so a change of nothing waits for it, and
 * announces what was saved, which ends the freeze.
 */
async function settle(
  { actors }: SaveUnlessAnsweredDeps,
  { surveyId, unsavedRevision, freeze }: { surveyId: string; unsavedRevision: number; freeze: SurveyFreeze },
): Promise<void> {
  const untilMs = performance.now() + savingFreezeMs;
  while (performance.now() < untilMs) {
    try {
      const { revision } = await actors.change(surveyId, () => undefined);
      if (revision === unsavedRevision) await freeze.release();
      return;
    } catch {
      await pause(settleDelayMs, undefined, { ref: false });
    }
  }
}

async function freezeWithRetry(
  { freezeSubmissions }: SaveUnlessAnsweredDeps,
  surveyId: string,
): Promise<{ freeze: SurveyFreeze; frozenAtMs: number }> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const frozenAtMs = performance.now();
    const freeze = await freezeSubmissions(surveyId, freezeMs);
    if (freeze) return { freeze, frozenAtMs };
    await pause(retryDelayMs);
  }
  throw tooManyConflicts('survey');
}
