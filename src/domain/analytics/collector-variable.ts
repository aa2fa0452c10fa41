import type { ValidationIssue } from '../../errors.ts';
import type { Dimension } from '../questions/contract.ts';
import type { SurveyWithQuestions } from '../survey.ts';

/** The name of the variable in crosstabs, and what filters by it begin with: `collector:ID`. */
export const collectorVariable = 'collector';
const filterPrefix = `${collectorVariable}:`;

/** The collector by which a response came, as a variable. Deleted collectors are shown if a response came by them. */
export const collectorDimension = ({
  collectors = [],
  collectorSlot = null,
}: Pick<SurveyWithQuestions, 'collectors' | 'collectorSlot'>): Dimension => ({
  categories: collectors.map(({ code, id, name, isDeleted }) => ({
    code: code + 1,
    value: id,
    text: name,
    ...(isDeleted && { isHidden: true }),
  })),
  source: { kind: 'collector', slot: collectorSlot },
});

export const isCollectorFilter = (text: string): boolean => text.startsWith(filterPrefix);

/** Parses `collector:ID`. */
export function collectorFilter(
  survey: Pick<SurveyWithQuestions, 'collectors' | 'collectorSlot'>,
  text: string,
): { dimension: Dimension; code: number } | ValidationIssue {
  const dimension = collectorDimension(survey);
  const id = text.slice(filterPrefix.length).toLowerCase();
  const category = dimension.categories.find(({ value }) => value === id);
  return category ? { dimension, code: category.code } : { path: '', message: 'names no collector of this survey' };
}
