import { type Collector, collectorOpennessOf, defaultCollectorCode } from '../../domain/collectors/collector.ts';
import type { Invitation } from '../../domain/collectors/invitation.ts';
import { type CollectorIndex, collectorCodeOf } from '../../domain/collectors/survey-collectors.ts';
import type { AnswerRow } from '../../domain/questions/contract.ts';
import type { Submission } from '../../domain/submission/submission.ts';
import type { Survey } from '../../domain/survey.ts';
import type { Problem, ValidationIssue } from '../../errors.ts';
import { collectorProblem, refusal } from './refusals.ts';

/** The collector by which a submission comes, and why it takes none. */
export interface CollectorChoice {
  /** Undefined where the survey has none of that name, or none at all. */
  collector: Collector | undefined;
  problem: Problem | undefined;
  issues: readonly ValidationIssue[];
}

export interface CollectorSource {
  submission: Pick<Submission, 'collectorId'>;
  /** The saved row of a response that is continued: it keeps its collector. */
  saved: AnswerRow | undefined;
  /** The collector of the invitation that was shown. */
  invitedBy?: Collector | undefined;
}

const plainChoice: CollectorChoice = { collector: undefined, problem: undefined, issues: [] };
const unknownCollector: CollectorChoice = {
  ...plainChoice,
  issues: [{ path: 'collectorId', message: 'is not a collector of this survey' }],
};

export function chooseCollector(index: CollectorIndex, source: CollectorSource, nowMs: number): CollectorChoice {
  const { submission, saved, invitedBy } = source;
  if (index.isPlain && submission.collectorId === undefined) return plainChoice;
  const named = submission.collectorId === undefined ? undefined : index.byId.get(submission.collectorId);
  if (submission.collectorId !== undefined && !named) return unknownCollector;
  const bound = saved ? index.byCode.get(collectorCodeOf(index, saved.codes)) : invitedBy;
  const collector = bound ?? named ?? index.byCode.get(defaultCollectorCode);
  if (!collector) return plainChoice;
  const isOther = named !== undefined && named !== collector;
  return {
    collector,
    problem: entryProblem(collector, source, bound) ?? collectorProblem(collectorOpennessOf(collector, nowMs)),
    issues: isOther
      ? [{ path: 'collectorId', message: `must be that of the ${saved ? 'response' : 'invitation'}` }]
      : [],
  };
}

/** Why a collector is not open to a submission that shows no invitation, or one of another collector. */
function entryProblem(
  collector: Collector,
  { invitedBy }: CollectorSource,
  bound: Collector | undefined,
): Problem | undefined {
  if (invitedBy && invitedBy !== collector) return refusal('wrongInvitation');
  return collector.kind === 'INVITATION' && bound === undefined ? refusal('invitationNeeded') : undefined;
}

/** Why no collector of a survey takes a submission at this moment: that of the default one. */
export function closedCollectorsProblem({ isPlain, byId, byCode }: CollectorIndex, nowMs: number): Problem | undefined {
  const fallback = byCode.get(defaultCollectorCode);
  if (isPlain || !fallback) return undefined;
  for (const collector of byId.values()) if (collectorOpennessOf(collector, nowMs) === 'open') return undefined;
  return collectorProblem(collectorOpennessOf(fallback, nowMs));
}

type Invited = Pick<Invitation, 'language'> | undefined;

/**
 * The language that an invitation gives its response. None in an anonymous survey: it is stored with the response, and
 * would tell the invitation.
 */
export const invitedLanguage = (invitation: Invited, { isAnonymous }: Pick<Survey, 'isAnonymous'>): string | null =>
  (isAnonymous ? undefined : invitation?.language) ?? null;

/** The language of a response which names none. */
export const languageByDefault = (
  invitation: Invited,
  collector: Pick<Collector, 'language'> | undefined,
  survey: Pick<Survey, 'language' | 'isAnonymous'>,
): string => invitedLanguage(invitation, survey) ?? collector?.language ?? survey.language;
