import { metadataPrefix } from '../../domain/export-formats.ts';
import { isCompleteOutcome, numberOfOutcome, type Outcome, outcomes } from '../../domain/outcome.ts';
import type { ParsedFilter } from '../../domain/questions/contract.ts';
import { questionVariable } from '../../domain/questions/variable.ts';
import type { Option, Question, SurveyWithQuestions } from '../../domain/survey.ts';
import { cutText } from '../../platform/cut-text.ts';
import type { ExportOptions } from '../../stores/postgres/exports.ts';
import type { Layout } from './columns.ts';

/** Which responses and questions a file covers, where these are not all. */
export interface FileSelection {
  startDate?: Date;
  /** Exclusive. */
  endDate?: Date;
  outcomes?: readonly Outcome[];
  /** With the wording of questions and options. */
  filters: readonly string[];
  questions?: { chosen: number; all: number };
}

/** Undefined for a file of all responses and questions. */
export function fileSelection(
  survey: SurveyWithQuestions,
  layout: Pick<Layout, 'questions' | 'numbers'>,
  { startDate, endDate, isComplete, outcomes: asked, filters }: Omit<ExportOptions, 'labels'>,
  conditions: readonly ParsedFilter[],
): FileSelection | undefined {
  const ofOutcome = conditions.filter(({ dimension }) => dimension.source.kind === 'outcome');
  const hasOutcomes = asked !== undefined || isComplete !== undefined || ofOutcome.length > 0;
  const selected = outcomes.filter(
    (outcome) =>
      (asked?.includes(outcome) ?? true) &&
      (isComplete === undefined || isComplete === isCompleteOutcome(outcome)) &&
      ofOutcome.every(({ code }) => code === numberOfOutcome(outcome) + 1),
  );
  const all = survey.questions.filter(({ isHidden }) => !isHidden);
  const chosen = layout.questions.length;
  const isOfAllQuestions = all.every((question) => layout.questions.includes(question));
  const selection: FileSelection = {
    ...(startDate !== undefined && { startDate: new Date(startDate) }),
    ...(endDate !== undefined && { endDate: new Date(endDate) }),
    ...(hasOutcomes && { outcomes: selected }),
    filters: conditions.flatMap((condition, index) =>
      condition.dimension.source.kind === 'outcome'
        ? []
        : [filterText(survey.questions, layout.numbers, filters[index] ?? '', condition)],
    ),
    ...(!isOfAllQuestions && { questions: { chosen, all: all.length } }),
  };
  return Object.keys(selection).length > 1 || selection.filters.length > 0 ? selection : undefined;
}

/** Longer wordings and values of the metadata are cut, as they would fill the first page. */
const maxShownCharacters = 100;

const shortened = (text: string): string => {
  const short = cutText(text, maxShownCharacters);
  return `${short}${short === text ? '' : '…'}`;
};

/** A filter as its readers see it: `3. How was it? – Breakfast: Good`, `metadata.region: North`. */
function filterText(
  questions: readonly Question[],
  numbers: Layout['numbers'],
  text: string,
  { dimension, lastCode }: ParsedFilter,
): string {
  const { source } = dimension;
  const value = shortened(dimension.categories[0]?.text ?? '');
  if (source.kind === 'metadata') return `${metadataPrefix}${shortened(source.key)}: ${value}`;
  const nameOf = ({ id, text: wording }: Question): string => `${numbers.get(id) ?? ''}. ${shortened(wording)}`;
  const [first = '', ...rest] = text.split(':');
  const question = questions.find(({ id }) => id === first);
  if (!question) {
    const named = questions.find(({ id }) => source.kind === 'annotation' && id === source.questionId);
    return `${first}${named ? ` (${nameOf(named)})` : ''}: ${value}`;
  }
  const part = partOf(question, source);
  const range = rest.join(':').replace('..', '–');
  return `${nameOf(question)}${part ? ` – ${shortened(part.text)}` : ''}: ${lastCode === undefined ? value : range}`;
}

/** The row of a MATRIX, or the item of a RANKING, that a condition is about. */
function partOf(question: Question, source: ParsedFilter['dimension']['source']): Option | undefined {
  const sourceOf = (part?: string): string => {
    const variable = questionVariable(question, part);
    return 'message' in variable ? '' : JSON.stringify(variable.source);
  };
  const wanted = JSON.stringify(source);
  if (sourceOf() === wanted) return undefined;
  return [...question.rows, ...question.options].find(({ value }) => sourceOf(value) === wanted);
}

/** Names in the language of a file. */
export interface SelectionNames {
  questions: string;
  ofOutcome(outcome: Outcome): string;
}

/** The parts of a selection as text. */
export function selectionTexts(
  { startDate, endDate, outcomes: selected, filters, questions }: FileSelection,
  { questions: heading, ofOutcome }: SelectionNames,
): string[] {
  const last = endDate && new Date(endDate.getTime() - 1);
  return [
    ...(startDate || last ? [`${startDate ? minuteText(startDate) : '…'} – ${last ? minuteText(last) : '…'} UTC`] : []),
    ...(selected ? [selected.length > 0 ? selected.map(ofOutcome).join(', ') : '–'] : []),
    ...filters,
    ...(questions ? [`${heading}: ${questions.chosen} / ${questions.all}`] : []),
  ];
}

const minuteText = (time: Date): string => time.toISOString().slice(0, 16).replace('T', ' ');
