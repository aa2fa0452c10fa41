import type { ValidationIssue } from '../../errors.ts';
import { composed } from '../../platform/composed-text.ts';
import type { Category, ParsedFilter } from '../questions/contract.ts';
import { registry } from '../questions/registry.ts';
import { questionVariable } from '../questions/variable.ts';
import type { Option, Question, SurveyWithQuestions } from '../survey.ts';
import { annotationFilter, annotationKindOf, type KnownAnnotations } from './annotation-variables.ts';
import { collectorFilter, isCollectorFilter } from './collector-variable.ts';
import { languageFilter } from './language-variable.ts';
import { metadataFilter } from './metadata-filter.ts';
import { outcomeFilter } from './outcome-variable.ts';

/**
 * Parses `questionId:value`, or `questionId:row:column` for a MATRIX or RANKING. Values and rows are named by their
 * value, by the id of the option, or by their text if no other has the same; they may contain colons, and a text that
 * names several rows and columns is refused. With `annotations`, also parses filters by AI annotations.
 * `from..to` stands for the points of a scale between two of them, both included. `outcome:VALUE`, `language:TAG`,
 * `collector:ID`, `metadata:KEY:VALUE` and `invitation:KEY:VALUE` are filters by what is no answer. Its dimension has no other category than the one that is named.
 * Returns a ValidationIssue if the text is no valid filter.
 */
export function parseFilter(
  survey: SurveyWithQuestions,
  text: string,
  annotations?: KnownAnnotations,
): ParsedFilter | ValidationIssue {
  const found = findFilter(survey, text, annotations);
  if ('message' in found) return found;
  const { source, categories } = found.dimension;
  const named = categories.filter(({ code }) => code === found.code);
  return { ...found, dimension: { source, categories: named } };
}

function findFilter(
  survey: SurveyWithQuestions,
  text: string,
  annotations: KnownAnnotations | undefined,
): ParsedFilter | ValidationIssue {
  if (annotations && annotationKindOf(text) !== undefined) return annotationFilter(survey, text, annotations);
  const ofResponse = outcomeFilter(text) ?? languageFilter(survey, text) ?? metadataFilter(text);
  if (ofResponse) return ofResponse;
  if (isCollectorFilter(text)) return collectorFilter(survey, text);
  const at = text.indexOf(':');
  const question = survey.questions.find((item) => !item.isHidden && item.id === text.slice(0, Math.max(0, at)));
  if (at < 0 || !question)
    return { path: '', message: 'must be questionId:optionValue with a question of this survey' };
  const rest = text.slice(at + 1);
  const { filterByValue } = registry[question.type];
  const filter = filterByValue ? filterByValue(question, normalise(rest)) : filterByNames(question, rest);
  return filter ?? { path: '', message: problemOf(question, rest) };
}

function filterByNames(question: Question, rest: string): ParsedFilter | ValidationIssue | undefined {
  const values = valuesOf(question);
  const splits = possibleSplits(question, rest);
  for (const naming of namings) {
    const [found, ...others] = splits.flatMap((split) => filterOf(question, split, { naming, values }) ?? []);
    // A whole value goes before a row and a column. Rows and columns of several splits are another count each.
    if (found?.isWhole === false && others.length > 0)
      return { path: '', message: 'names several rows and columns of the question: write their ids' };
    if (found) return found.filter;
  }
  return undefined;
}

function filterOf(
  question: Question,
  { rows, value }: Split,
  { naming: { ofRow, ofValue }, values }: { naming: Naming; values: Values },
): { filter: ParsedFilter; isWhole: boolean } | undefined {
  const row = rows?.[ofRow];
  if (rows && !row) return undefined;
  const category = (row ? values.ofRows : values.ofWhole)[ofValue](value);
  const dimension = category && questionVariable(question, row?.value);
  if (!dimension || 'message' in dimension) return undefined;
  return { filter: { dimension, code: category.code }, isWhole: !row };
}

type Named = Pick<Category, 'code' | 'value' | 'text'> & { id?: string };
const nameKinds = ['value', 'id', 'text'] as const;
type NameKind = (typeof nameKinds)[number];
/** Find the item that a name of each kind stands for, in a time that does not depend on their number. */
type Finders = Readonly<Record<NameKind, (name: string) => Named | undefined>>;
type NamedRow = Readonly<Record<NameKind, Named | undefined>>;

function findersOf(named: readonly Named[]): Finders {
  const [byValue, byId] = [new Map<string, Named>(), new Map<string, Named>()];
  for (const item of named) {
    if (!byValue.has(item.value)) byValue.set(item.value, item);
    if (item.id !== undefined && !byId.has(item.id)) byId.set(item.id, item);
  }
  let byText: ReadonlyMap<string, Named | undefined> | undefined;
  return {
    value: (name) => byValue.get(name),
    id: (name) => byId.get(name),
    text: (name) => {
      byText ??= itemsByText(named);
      return byText.get(normalise(name));
    },
  };
}

/** A text that several have names none of them. */
function itemsByText(named: readonly Named[]): ReadonlyMap<string, Named | undefined> {
  const items = new Map<string, Named | undefined>();
  for (const item of named) {
    const text = normalise(item.text);
    items.set(text, items.has(text) ? undefined : item);
  }
  return items;
}

const normalise = (text: string): string => composed(text.trim()).toLowerCase();

/** How a row, if there is one, and a value are named. */
interface Naming {
  ofRow: NameKind;
  ofValue: NameKind;
}

/**
 * A value goes before an id and an id before a text, wherever the name is split. Rows that are named in another way
 * than the value come last: the ranks of a RANKING, for one, have no ids.
 */
const namings: readonly Naming[] = [
  ...nameKinds.map((kind) => ({ ofRow: kind, ofValue: kind })),
  ...nameKinds.flatMap((ofValue) =>
    nameKinds.filter((ofRow) => ofRow !== ofValue).map((ofRow) => ({ ofRow, ofValue })),
  ),
];

/** Rows of a MATRIX, items of a RANKING. */
const partsOf = (question: Question): readonly Option[] =>
  question.rows.length > 0 ? question.rows : question.options;

/** The values of a question, and those of each of its rows: all rows have the same columns, all items the same ranks. */
interface Values {
  ofWhole: Finders;
  ofRows: Finders;
}

function valuesOf(question: Question): Values {
  const options = new Map(question.options.map((option) => [option.code, option]));
  const finders = (row?: string): Finders => {
    const dimension = questionVariable(question, row);
    if ('message' in dimension) return findersOf([]);
    const withIds = dimension.categories.map((category): Named => {
      const option = options.get(category.code);
      return option?.value === category.value ? { ...category, id: option.id } : category;
    });
    return findersOf(withIds);
  };
  return { ofWhole: finders(), ofRows: finders(partsOf(question)[0]?.value) };
}

interface Split {
  /** The row that its first part names as each kind of name; absent: the whole text is the value. */
  rows?: NamedRow;
  value: string;
}

/** The text as a value, then split into row and value at every colon before which it names a row. */
function possibleSplits(question: Question, text: string): Split[] {
  const parts = partsOf(question);
  const find = findersOf(parts);
  const pieces = text.split(':');
  const splits: Split[] = [{ value: text }];
  for (const length of pieceCounts(parts)) {
    if (length >= pieces.length) continue;
    const name = pieces.slice(0, length).join(':');
    const rows: NamedRow = { value: find.value(name), id: find.id(name), text: find.text(name) };
    if (nameKinds.some((kind) => rows[kind])) splits.push({ rows, value: pieces.slice(length).join(':') });
  }
  return splits;
}

/**
 * In how many pieces the names of rows fall at their colons: in one, mostly. A text that falls in another number before
 * a colon names no row there, as normalising keeps the colons of a text.
 */
const pieceCounts = (rows: readonly Option[]): ReadonlySet<number> =>
  new Set(rows.flatMap((row) => nameKinds.map((kind) => row[kind].split(':').length)));

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
