import { z } from 'zod';
import {
  annotationDimension,
  annotationKindOf,
  type KnownAnnotations,
} from '../../domain/analytics/annotation-variables.ts';
import { withSkipped } from '../../domain/analytics/asked.ts';
import { collectorDimension, collectorVariable } from '../../domain/analytics/collector-variable.ts';
import { parseFilter } from '../../domain/analytics/filter.ts';
import { languageDimension, languageVariable } from '../../domain/analytics/language-variable.ts';
import { outcomeDimension, outcomeVariable } from '../../domain/analytics/outcome-variable.ts';
import { maxMetadataKeyLength, maxMetadataTextLength } from '../../domain/metadata.ts';
import type { Dimension, ParsedFilter } from '../../domain/questions/contract.ts';
import { type NotAVariable, questionVariable } from '../../domain/questions/variable.ts';
import { type SurveyWithQuestions, visibleQuestions } from '../../domain/survey.ts';
import { type ValidationIssue, validationProblem } from '../../errors.ts';
import { createPauses } from '../../platform/slices.ts';

/** Where the names of variables and filters are looked up. */
export interface VariableScope {
  survey: SurveyWithQuestions;
  known: KnownAnnotations;
  /** Whether responses that skipped a question are a category of it. */
  includesSkipped?: boolean;
}

export const annotationVariablesText =
  'After an analysis by AI also `sentiment:positive` (negative, neutral, mixed) and `theme:name`, or of one question `sentiment:questionId:positive` and `theme:questionId:name`; ' +
  'they hold where the last finished analysis found it in any, or that, answer.';

/** A text of the metadata fits in with its key, also where all characters of the key are written twice. */
const maxFilterLength = 20 + 2 * maxMetadataKeyLength + maxMetadataTextLength;
export const filterField = z.string().min(3).max(maxFilterLength);

/** A variable as a request names it, with the paths of the fields. */
export interface NamedVariable {
  id: string;
  row: string | undefined;
  path: string;
  rowPath: string;
}

/** The dimension of a variable; undefined, with an issue added, if there is none of that name. */
export function dimensionOf(
  scope: VariableScope,
  { id, row, path, rowPath }: NamedVariable,
  issues: ValidationIssue[],
): Dimension | undefined {
  const found = resolveVariable(scope, id, row);
  if (!('message' in found)) return found;
  issues.push({ path: found.isOfPart ? rowPath : path, message: found.message });
  return undefined;
}

function resolveVariable(
  { survey, known, includesSkipped }: VariableScope,
  id: string,
  row: string | undefined,
): Dimension | NotAVariable {
  if (annotationKindOf(id) !== undefined) {
    const dimension = annotationDimension(survey, id, known);
    if (typeof dimension === 'string') return { message: dimension, isOfPart: false };
    return row === undefined ? dimension : { message: 'must be left out: AI annotations have no rows', isOfPart: true };
  }
  if (id === outcomeVariable)
    return row === undefined
      ? outcomeDimension
      : { message: 'must be left out: outcomes have no rows', isOfPart: true };
  if (id === collectorVariable)
    return row === undefined
      ? collectorDimension(survey)
      : { message: 'must be left out: collectors have no rows', isOfPart: true };
  if (id === languageVariable)
    return row === undefined
      ? languageDimension(survey)
      : { message: 'must be left out: languages have no rows', isOfPart: true };
  const question = visibleQuestions(survey).find((item) => item.id === id);
  if (!question) return { message: 'is not a question of this survey', isOfPart: false };
  const dimension = questionVariable(question, row);
  return 'message' in dimension || !includesSkipped ? dimension : withSkipped(survey, dimension, id, row);
}

/**
 * The conditions of filters. Throws VALIDATION_ERROR for a filter that names nothing, and if there are `issues` of other
 * fields.
 */
export async function conditionsOf(
  { survey, known }: VariableScope,
  texts: readonly string[],
  path: string,
  issues: ValidationIssue[] = [],
): Promise<ParsedFilter[]> {
  const found: ParsedFilter[] = [];
  const pauseIfDue = createPauses();
  for (const [index, text] of texts.entries()) {
    const parsed = parseFilter(survey, text, known);
    if ('message' in parsed) issues.push({ path: `${path}.${index}`, message: parsed.message });
    else found.push(parsed);
    await pauseIfDue();
  }
  if (issues.length > 0) throw validationProblem(issues);
  return found;
}
