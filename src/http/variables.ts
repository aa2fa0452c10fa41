import { z } from 'zod';
import { parseFilter } from '../domain/crosstab.ts';
import { findingDimension, findingKindOf, type KnownFindings } from '../domain/finding-variables.ts';
import type { Dimension } from '../domain/questions/contract.ts';
import { questionVariable, type NoVariable } from '../domain/questions/variable.ts';
import { visibleQuestions, type SurveyWithQuestions } from '../domain/survey.ts';
import { validationProblem, type Finding } from '../errors.ts';
import type { Condition } from '../stores/clickhouse/totals.ts';

/** What names of variables and filters are looked up in. */
export interface Scope {
  survey: SurveyWithQuestions;
  known: KnownFindings;
}

export const findingsText = 'After an analysis by AI also `sentiment:positive` (negative, neutral, mixed) and `theme:name`, or of one question `sentiment:questionId:positive` and `theme:questionId:name`; ' +
  'they hold where the last finished analysis found it in any, or that, answer.';

export const filterText = z.string().min(3).max(1000);

/** A variable as a client names it, and where it did. */
export interface NamedVariable {
  id: string;
  row: string | undefined;
  path: string;
  rowPath: string;
}

/** Undefined where the name is none; why, is added to the findings. */
export function dimensionOf(scope: Scope, { id, row, path, rowPath }: NamedVariable, findings: Finding[]): Dimension | undefined {
  const found = variable(scope, id, row);
  if (!('message' in found)) return found;
  findings.push({ path: found.isOfPart ? rowPath : path, message: found.message });
  return undefined;
}

function variable({ survey, known }: Scope, id: string, row: string | undefined): Dimension | NoVariable {
  if (findingKindOf(id) !== undefined) {
    const dimension = findingDimension(survey, id, known);
    if (typeof dimension === 'string') return { message: dimension, isOfPart: false };
    return row === undefined ? dimension : { message: 'must be left out: findings have no rows', isOfPart: true };
  }
  const question = visibleQuestions(survey).find((item) => item.id === id);
  return question ? questionVariable(question, row) : { message: 'is not a question of this survey', isOfPart: false };
}

/** Filters as a client names them; refuses those that name nothing (VALIDATION_ERROR). */
export function conditionsOf({ survey, known }: Scope, texts: readonly string[], path: string): Condition[] {
  const findings: Finding[] = [];
  const found = texts.flatMap((text, index) => {
    const parsed = parseFilter(survey, text, known);
    if (!('message' in parsed)) return [parsed];
    findings.push({ path: `${path}.${index}`, message: parsed.message });
    return [];
  });
  if (findings.length > 0) throw validationProblem(findings);
  return found;
}
