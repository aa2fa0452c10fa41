import { type ConditionIndex, indexConditions } from '../path/condition-index.ts';
import type { Known } from '../path/conditions.ts';
import { givenAnswers, type Walk, walkOf } from '../path/path.ts';
import type { SurveyWithQuestions } from '../survey.ts';
import { compiledPathsOf } from '../survey-paths/path-definition.ts';
import type { Respondent } from '../survey-paths/rendered-path.ts';
import { activeQuotas, type CellQuota } from './cell-quota.ts';

interface CompiledQuotas {
  quotas: readonly CellQuota[];
  fitting: ConditionIndex;
}

const compiledQuotas = new WeakMap<SurveyWithQuestions, CompiledQuotas>();

/** The active quotas by cell that a respondent with these answers counts for; none where they screen out. */
export function fittingQuotas(survey: SurveyWithQuestions, { answers, ...context }: Respondent): CellQuota[] {
  const { quotas, fitting } = compiledQuotasOf(survey);
  if (quotas.length === 0) return [];
  const compiled = compiledPathsOf(survey);
  const walk = walkOf(compiled, givenAnswers(compiled, answers), { ...context, surveyLanguage: survey.language });
  const known = survey.isAnonymous ? withoutInvitation(walk) : walk;
  return walk.isScreenedOut ? [] : fitting(known).map((place) => quotas[place] as CellQuota);
}

/** As an anonymous survey counts a response: its path may depend on the invitation, but nothing of that is stored. */
const withoutInvitation = (walk: Walk): Known => ({
  answer: (question) => walk.answer(question),
  isAnswered: (question) => walk.isAnswered(question),
  metadata: walk.metadata,
  invitation: undefined,
  language: walk.language,
});

function compiledQuotasOf(survey: SurveyWithQuestions): CompiledQuotas {
  let compiled = compiledQuotas.get(survey);
  if (!compiled) {
    const quotas = activeQuotas(survey.quotas);
    const conditions = quotas.map(({ where }) => where);
    // A survey without quotas need not have its paths compiled.
    const fitting = quotas.length === 0 ? () => [] : indexConditions(conditions, compiledPathsOf(survey));
    compiled = { quotas, fitting };
    compiledQuotas.set(survey, compiled);
  }
  return compiled;
}
