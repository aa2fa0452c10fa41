import type { ValidationIssue } from '../../errors.ts';
import type { Category, Dimension } from '../questions/contract.ts';
import { questionVariable } from '../questions/variable.ts';
import type { Option, Question, SurveyWithQuestions } from '../survey.ts';
import { annotationFilter, annotationKindOf, type KnownAnnotations } from './annotation-variables.ts';
import { collectorFilter, isCollectorFilter } from './collector-variable.ts';
import { languageFilter } from './language-variable.ts';
import { outcomeFilter } from './outcome-variable.ts';

/** A filter: responses whose value of the dimension has this code. */
export interface ParsedFilter {
  dimension: Dimension;
  code: number;
}

/**
 * Parses `questionId:value`, or `questionId:row:column` for a MATRIX or RANKING. Values and rows are named by their
 * value, by the id of the option, or by their text if no other has the same; they may contain colons, and a text that
 * names several rows and columns is refused. With `annotations`, also parses filters by AI annotations.
 * `outcome:VALUE`, `language:TAG` and `collector:ID` are filters by what all responses have. Returns a ValidationIssue
 * if the text is no valid filter.
 */
export function parseFilter(
  survey: SurveyWithQuestions,
  text: string,
  annotations?: KnownAnnotations,
): ParsedFilter | ValidationIssue {
  if (annotations && annotationKindOf(text) !== undefined) return annotationFilter(survey, text, annotations);
  const ofResponse = outcomeFilter(text) ?? languageFilter(survey, text);
  if (ofResponse) return ofResponse;
  if (isCollectorFilter(text)) return collectorFilter(survey, text);
  const at = text.indexOf(':');
  const question = survey.questions.find((item) => !item.isHidden && item.id === text.slice(0, Math.max(0, at)));
  if (at < 0 || !question)
    return { path: '', message: 'must be questionId:optionValue with a question of this survey' };
  const rest = text.slice(at + 1);
  for (const naming of namings) {
    const [found, ...others] = possibleSplits(rest).flatMap((split) => filterOf(question, split, naming) ?? []);
    // A whole value goes before a row and a column. Rows and columns of several splits are another count each.
    if (found?.isWhole === false && others.length > 0)
      return { path: '', message: 'names several rows and columns of the question: write their ids' };
    if (found) return found.filter;
  }
  return { path: '', message: problemOf(question, rest) };
}

function filterOf(
  question: Question,
  { row, value }: Split,
  { ofRow, ofValue }: Naming,
): { filter: ParsedFilter; isWhole: boolean } | undefined {
  const named = row === undefined ? undefined : ofRow(partsOf(question), row);
  if (row !== undefined && !named) return undefined;
  const dimension = questionVariable(question, named?.value);
  if ('message' in dimension) return undefined;
  const category = ofValue(withIds(dimension.categories, question.options), value);
  return category && { filter: { dimension, code: category.code }, isWhole: row === undefined };
}

type Named = Pick<Category, 'code' | 'value' | 'text'> & { id?: string };
type FindName = <T extends Named>(named: readonly T[], name: string) => T | undefined;

const byValue: FindName = (named, name) => named.find(({ value }) => value === name);
const byId: FindName = (named, name) => named.find(({ id }) => id === name);
const byText: FindName = (named, name) => {
  const same = named.filter(({ text }) => normalise(text) === normalise(name));
  return same.length === 1 ? same[0] : undefined;
};
const normalise = (text: string): string => text.trim().normalize('NFC').toLowerCase();

/** How a row, if there is one, and a value are named. */
interface Naming {
  ofRow: FindName;
  ofValue: FindName;
}

const kindsOfNames = [byValue, byId, byText];
/**
 * A value goes before an id and an id before a text, wherever the name is split. Rows that are named in another way
 * than the value come last: the ranks of a RANKING, for one, have no ids.
 */
const namings: readonly Naming[] = [
  ...kindsOfNames.map((kind) => ({ ofRow: kind, ofValue: kind })),
  ...kindsOfNames.flatMap((ofValue) =>
    kindsOfNames.filter((ofRow) => ofRow !== ofValue).map((ofRow) => ({ ofRow, ofValue })),
  ),
];

/** Rows of a MATRIX, items of a RANKING. */
const partsOf = (question: Question): readonly Option[] =>
  question.rows.length > 0 ? question.rows : question.options;

const withIds = (categories: readonly Category[], options: readonly Option[]): Named[] =>
  categories.map((category) => {
    const id = options.find(({ code, value }) => code === category.code && value === category.value)?.id;
    return id === undefined ? category : { ...category, id };
  });

interface Split {
  row?: string;
  value: string;
}

/** The text as a value, then split into row and value at every colon. */
function possibleSplits(text: string): Split[] {
  const found: Split[] = [{ value: text }];
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1))
    found.push({ row: text.slice(0, at), value: text.slice(at + 1) });
  return found;
}

function problemOf(question: Question, rest: string): string {
  const whole = questionVariable(question);
  if (!('message' in whole)) return `names no value of the question; its values are ${listed(whole.categories)}`;
  const [row] = partsOf(question).filter(({ isHidden }) => !isHidden);
  const ofRow = question.rows.length === 0 || !row ? whole : questionVariable(question, row.value);
  if ('message' in ofRow) return `the question ${whole.message}`;
  const known = `its rows are ${listed(question.rows)}, its columns ${listed(ofRow.categories)}`;
  return rest.includes(':')
    ? `names no row and column of the question; ${known}`
    : `the question is a ${question.type}: write questionId:rowValue:columnValue; ${known}`;
}

const maxListed = 20;

function listed(named: readonly { value: string; isHidden?: boolean }[]): string {
  const values = named.filter(({ isHidden }) => !isHidden).map(({ value }) => value);
  const more = values.length - maxListed;
  return `${values.slice(0, maxListed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
