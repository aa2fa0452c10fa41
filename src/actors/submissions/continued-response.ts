import type { Submission } from '../../domain/submission/submission.ts';
import { type Problem, validationProblem } from '../../errors.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import type { CachedSurvey } from '../survey-cache.ts';
import { refusal } from './refusals.ts';
import type { EvictedResponse, ObservedRestore, SavedResponse } from './saved-response.ts';

export interface ContinuedResponseDeps {
  intake: Pick<Intake, 'observe'>;
  secrets: Pick<Secrets, 'isResumeToken'>;
}

/** The state of the response that a submission names. */
export interface ContinuedResponse {
  problem?: Problem;
  saved?: SavedResponse;
  /** Set when the answers must be read from the response store first. */
  evicted?: EvictedResponse;
  /** Version of the response that was read; 0: the id is new; null: none, the service gives the id. */
  observedVersion: number | null;
  /** Generation of the intake when that was found; undefined: the intake was not asked. */
  observedGeneration?: number | undefined;
}

export interface ContinuedRequest extends Pick<Submission, 'responseId' | 'resumeToken'> {
  surveyId: string;
  /** An invitation names the response and is the right to continue it; `isStarted`: a save of it was accepted. */
  invited?: { isStarted: boolean } | undefined;
}

/** Finds the saved state of the response that a submission names, in the intake or in `restored`. */
export async function findContinued(
  deps: ContinuedResponseDeps,
  { surveyId, responseId, resumeToken, invited }: ContinuedRequest,
  { survey }: Pick<CachedSurvey, 'survey'>,
  restored: ObservedRestore | undefined,
): Promise<ContinuedResponse> {
  const refused = (problem: Problem): ContinuedResponse => ({ observedVersion: null, problem });
  if (responseId === undefined) {
    if (resumeToken === undefined) return { observedVersion: null };
    return refused(validationProblem([{ path: 'responseId', message: 'is needed with resumeToken' }]));
  }
  if (!invited && resumeToken === undefined) return { observedVersion: 0 };
  if (!invited && !deps.secrets.isResumeToken(surveyId, responseId, resumeToken ?? ''))
    return refused(refusal('wrongResumeToken'));
  const isComplete = refusal(invited ? 'invitationUsed' : 'alreadyComplete');
  const { state, generation: observedGeneration } = await deps.intake.observe(responseId);
  if (state && (state.version < 1 || state.surveyId !== surveyId))
    return invited ? { observedVersion: 0, problem: isComplete } : refused(refusal('noResponseToContinue'));
  if (state?.isComplete) return { observedVersion: state.version, observedGeneration, problem: isComplete };
  if (state && state.savedState !== '')
    return {
      observedVersion: state.version,
      observedGeneration,
      saved: JSON.parse(state.savedState) as SavedResponse,
    };
  // A later version in the intake means that somebody else has continued the response since: then it is restored again.
  if (restored && (state === undefined || state.version === restored.observedVersion))
    return {
      observedVersion: restored.observedVersion,
      // Without a state, what was saved since the restore began may be evicted already.
      observedGeneration: state ? observedGeneration : restored.observedGeneration,
      ...(restored.isComplete ? { problem: isComplete } : { saved: restored.saved }),
    };
  if (invited && !state && !invited.isStarted) return { observedVersion: 0 };
  const known = state && {
    observedVersion: state.version,
    submittedAtMs: Number.isNaN(state.submittedAtMs) ? undefined : state.submittedAtMs,
  };
  return {
    observedVersion: state?.version ?? null,
    observedGeneration,
    evicted: { surveyId, responseId, known, codePositions: survey.slotCounts.codes },
  };
}

export interface IdCheckDeps {
  /** The accepted response that has or had an id, in whatever survey. */
  findStored(responseId: string): Promise<{ surveyId: string; isComplete: boolean } | 'deleted' | undefined>;
}

/**
 * The refusal where another response has an id that the intake may not know any more (`needsIdCheck`): the response
 * store is asked, after the submission limit was counted.
 */
export async function idTakenProblem(
  { findStored }: IdCheckDeps,
  surveyId: string,
  responseId: string,
): Promise<Problem | undefined> {
  const stored = await findStored(responseId);
  if (!stored) return undefined;
  if (stored === 'deleted') return refusal('idOfDeletedResponse');
  const isSame = stored.surveyId === surveyId && stored.isComplete;
  return refusal(isSame ? 'alreadyComplete' : 'idOfAnotherResponse');
}
