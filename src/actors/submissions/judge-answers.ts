import { setImmediate as nextTurn } from 'node:timers/promises';
import { hasHadPaths } from '../../domain/not-asked.ts';
import type { KnownUpload } from '../../domain/questions/contract.ts';
import {
  type CheckedAnswers,
  type CheckOptions,
  checkAnswers,
  checkAnswersInSlices,
} from '../../domain/submission/answers.ts';
import type { Submission } from '../../domain/submission/submission.ts';
import { Problem, type ValidationIssue, validationProblem } from '../../errors.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { runAtOnce, runInSlices, type SlicedWork } from '../../platform/slices.ts';
import type { FormerVersions, JudgingSurvey } from '../former-versions.ts';
import type { CachedSurvey } from '../survey-cache.ts';
import { encodePlan, respondentOf } from './encode-plan.ts';
import { refusal } from './refusals.ts';
import type { SavedResponse } from './saved-response.ts';
import {
  type AnswerInput,
  idHashOf,
  outcomeOfSubmission,
  refusedPlan,
  type SubmissionPlan,
} from './submission-plan.ts';

export interface JudgeDeps {
  formerVersions: Pick<FormerVersions, 'forSubmission' | 'ofResponse'>;
  secrets: Pick<Secrets, 'resumeToken'>;
}

type Uploads = ReadonlyMap<string, KnownUpload>;

/** Why a submission that names its respondent is not taken: the survey is anonymous, or was when its response began. */
export function anonymityIssue(
  { respondent }: Submission,
  { survey }: JudgingSurvey,
  saved: Pick<SavedResponse, 'submittedAtMs'> | undefined,
): ValidationIssue | undefined {
  if (respondent === undefined) return undefined;
  if (survey.isAnonymous) return { path: 'respondent', message: 'is not taken by an anonymous survey' };
  return saved && survey.anonymousUntil && saved.submittedAtMs <= survey.anonymousUntil.getTime()
    ? { path: 'respondent', message: 'is not taken by a response that was begun anonymously' }
    : undefined;
}

/** Checks the answers by the version that the respondent saw. */
export function planAnswers(
  deps: JudgeDeps,
  input: AnswerInput & { cached: CachedSurvey },
  uploadIds: readonly string[],
  uploads: Uploads,
): SubmissionPlan | Promise<SubmissionPlan> {
  const { cached, continued } = input;
  const present = cached.survey.version;
  const version = versionSeen(input) ?? present;
  const savedVersion = cached.compiled.paths?.countsStarted === true ? continued.saved?.surveyVersion : undefined;
  if (version === present && (savedVersion ?? present) === present) return planJudged(deps, input, uploadIds, uploads);
  return planByVersions(deps, input, { version, savedVersion }).then((judged) =>
    judged instanceof Problem
      ? refusedAnswers(input, uploadIds, judged)
      : planJudged(deps, { ...input, ...judged }, uploadIds, uploads),
  );
}

/** Loads the version that the respondent saw, and that by which the last save was judged. */
async function planByVersions(
  { formerVersions }: JudgeDeps,
  { cached, submission, continued }: AnswerInput,
  { version, savedVersion }: { version: number; savedVersion: number | undefined },
): Promise<Pick<AnswerInput, 'cached' | 'present' | 'savedBy' | 'isJudgedByLastSave'> | Problem> {
  const savedAtMs = submission.surveyVersion === undefined ? continued.saved?.savedAtMs : undefined;
  const judging =
    version === cached.survey.version ? cached : await formerVersions.forSubmission(cached, version, savedAtMs);
  if (judging === 'gone') return refusal('versionGone');
  if (judging === 'never was')
    return validationProblem([{ path: 'surveyVersion', message: 'is not a version of this survey' }]);
  const isJudgedByLastSave = submission.surveyVersion === undefined && version !== cached.survey.version;
  const judged = { cached: judging, ...(judging !== cached && { present: cached }), isJudgedByLastSave };
  if (savedVersion === undefined || savedVersion === version) return judged;
  return { ...judged, savedBy: await formerVersions.ofResponse(cached, savedVersion) };
}

/** A response that is continued is judged by the version of its last save, unless the respondent has seen another. */
function versionSeen({ submission, continued, cached }: AnswerInput): number | undefined {
  const saved = continued.saved?.surveyVersion;
  return submission.surveyVersion ?? (saved !== undefined && hasHadPaths(cached.survey) ? saved : undefined);
}

function planJudged(
  deps: JudgeDeps,
  input: AnswerInput,
  uploadIds: readonly string[],
  uploads: Uploads,
): SubmissionPlan | Promise<SubmissionPlan> {
  const { submission, cached, continued } = input;
  const { compiled } = cached;
  const options: CheckOptions = {
    isComplete: submission.isComplete,
    uploads,
    previous: continued.saved?.row,
    cleared: submission.cleared,
    // An id that the service has just made has decided no order yet.
    responseId: submission.responseId,
    ...(compiled.paths && { isStrict: submission.isStrict, context: respondentOf(input) }),
  };
  if (![cached, input.present, input.savedBy].some((version) => version?.compiled.isSlowToCheck))
    return runAtOnce(planChecked(deps, input, uploadIds, checkAnswers(compiled, submission.answers, options)));
  return checkAnswersInSlices(compiled, submission.answers, options, nextTurn).then((checked) =>
    runInSlices(planChecked(deps, input, uploadIds, checked)),
  );
}

function* planChecked(
  deps: JudgeDeps,
  input: AnswerInput,
  uploadIds: readonly string[],
  checked: CheckedAnswers,
): SlicedWork<SubmissionPlan> {
  const { request, submission, cached, continued, choice } = input;
  const anonymity = anonymityIssue(submission, cached, continued.saved);
  if (checked.ok && !anonymity && request.issues.length === 0 && choice.issues.length === 0)
    return yield* encodePlan(deps, input, uploadIds, checked);
  const former: ValidationIssue[] =
    input.isJudgedByLastSave === true && !checked.ok
      ? [
          {
            path: 'surveyVersion',
            message: `is left out, so version ${cached.survey.version} of the last save counts; name the one that the respondent saw`,
          },
        ]
      : [];
  const issues = [
    ...request.issues,
    ...choice.issues,
    ...(anonymity ? [anonymity] : []),
    ...(checked.ok ? [] : checked.issues),
    ...former,
  ];
  return refusedAnswers(input, uploadIds, validationProblem(issues));
}

const refusedAnswers = (input: AnswerInput, uploadIds: readonly string[], problem: Problem): SubmissionPlan => ({
  ...refusedPlan(input.responseId, input.continued.observedVersion, problem),
  idHash: idHashOf(input, input.continued),
  outcome: outcomeOfSubmission(input.submission),
  uploadIds,
});
