import type { SlicedWork } from '../../platform/slices.ts';
import { oncePerObject } from '../once-per-object.ts';
import { type ConditionIndex, indexConditions } from '../path/condition-index.ts';
import type { Known } from '../path/conditions.ts';
import type { Walk } from '../path/path.ts';
import type { SurveyWithQuestions } from '../survey.ts';
import { compiledPathsOf } from '../survey-paths/path-definition.ts';
import { activeQuotas, type CellQuota } from './cell-quota.ts';

interface CompiledQuotas {
  quotas: readonly CellQuota[];
  fitting: ConditionIndex;
}

const compiledQuotasOf = oncePerObject((survey: SurveyWithQuestions): CompiledQuotas => {
  const quotas = activeQuotas(survey.quotas);
  const conditions = quotas.map(({ where }) => where);
  return { quotas, fitting: indexConditions(conditions, compiledPathsOf(survey)) };
});

/** The active quotas by cell that a respondent on this walk counts for; none where the answers screen out. */
export function* fittingQuotas(survey: SurveyWithQuestions, walk: Walk): SlicedWork<CellQuota[]> {
  const { quotas, fitting } = compiledQuotasOf(survey);
  if (walk.isScreenedOut) return [];
  const places = yield* fitting(survey.isAnonymous ? withoutInvitation(walk) : walk);
  return places.map((place) => quotas[place] as CellQuota);
}

/** As an anonymous survey counts a response: its path may depend on the invitation, but nothing of that is stored. */
const withoutInvitation = (walk: Walk): Known => ({
  answer: (question) => walk.answer(question),
  isAnswered: (question) => walk.isAnswered(question),
  folded: (text) => walk.folded(text),
  metadata: walk.metadata,
  invitation: undefined,
  language: walk.language,
});
