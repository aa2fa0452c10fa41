import { compileCondition, type Test } from '../path/conditions.ts';
import { givenAnswers, walkOf } from '../path/path.ts';
import type { SurveyWithQuestions } from '../survey.ts';
import { compiledPathsOf } from '../survey-paths/path-definition.ts';
import type { Respondent } from '../survey-paths/rendered-path.ts';
import { activeQuotas, type CellQuota } from './cell-quota.ts';

interface CompiledQuota {
  quota: CellQuota;
  test: Test;
}

const compiledQuotas = new WeakMap<SurveyWithQuestions, readonly CompiledQuota[]>();

/** The active quotas by cell that a respondent with these answers counts for. */
export function fittingQuotas(survey: SurveyWithQuestions, { answers, ...context }: Respondent): CellQuota[] {
  const quotas = compiledQuotasOf(survey);
  if (quotas.length === 0) return [];
  const compiled = compiledPathsOf(survey);
  const walk = walkOf(compiled, givenAnswers(compiled, answers), { ...context, surveyLanguage: survey.language });
  return quotas.filter(({ test }) => test(walk)).map(({ quota }) => quota);
}

function compiledQuotasOf(survey: SurveyWithQuestions): readonly CompiledQuota[] {
  const known = compiledQuotas.get(survey);
  if (known) return known;
  const active = activeQuotas(survey.quotas);
  const paths = active.length > 0 ? compiledPathsOf(survey) : undefined;
  const compiled = paths ? active.map((quota) => ({ quota, test: compileCondition(quota.where, paths) })) : [];
  compiledQuotas.set(survey, compiled);
  return compiled;
}
