import { isExactNumber } from '../../domain/questions/numbers.ts';
import { withCounts } from '../clean.ts';
import { durationText } from '../duration.ts';
import { type Column, type Declared, oneLine, type Row, type Table } from '../table.ts';
import type { SpssValue } from './cases.ts';
import { readSpssFile, type SpssFile } from './file.ts';
import { splitLabels } from './set-labels.ts';
import type { SpssSet } from './sets.ts';
import type { SpssVariable } from './variables.ts';

/**
 * The table of an SPSS file. A column's question is the label of its variable, or its name. Its cells are the labels of
 * values if all its values have one; the labels are then its options, in the order of the values. Missing values are
 * empty. The variables of a multiple response set are one question: its options, or its choices by common labels.
 */
export function spssTable(bytes: Uint8Array): Table {
  const given = readSpssFile(bytes);
  const known = given.sets.filter(({ variables }) => variables.length > 1);
  const sets = disjointSets(known);
  const file = withSharedLabels({ ...given, sets });
  const read = file.variables.map((variable, place) => readVariable(file, variable, place));
  const columns = file.variables.map(
    ({ name, label }, index): Column => ({
      index,
      name,
      run: index,
      question: oneLine(label) || name,
      part: '',
      ...(read[index]?.declared && { declared: read[index].declared }),
    }),
  );
  const rows = file.cases.map((_, place) => read.map(({ cells }) => cells[place] ?? ''));
  const withSets = file.sets.reduce<Sheet>((sheet, set) => applySet(sheet, set, file), { columns, rows });
  const overlapping = known
    .filter((set) => !sets.includes(set))
    .map(({ label }) => `The set “${oneLine(label)}” is left out: another one has some of its variables.`);
  const weighted = file.weight ? [`The file is weighted by “${file.weight.name}”; the counts are not.`] : [];
  return { ...withSets, remarks: [...read.flatMap(({ remarks }) => remarks), ...overlapping, ...weighted] };
}

/** The sets without those that have a variable of an earlier one: a column belongs to one question. */
function disjointSets(sets: readonly SpssSet[]): SpssSet[] {
  const taken = new Set<number>();
  return sets.filter(({ variables }) => {
    const isDisjoint = !variables.some((place) => taken.has(place));
    if (isDisjoint) for (const place of variables) taken.add(place);
    return isDisjoint;
  });
}

/** The file, in which the variables of a set of categories have the labels of all of them. */
function withSharedLabels(file: SpssFile): SpssFile {
  const shared = new Map<number, SpssVariable['labels']>();
  for (const { variables, counted } of file.sets) {
    const labels = counted === undefined ? labelsOfCategories(variables, file) : undefined;
    if (labels)
      for (const place of variables) shared.set(place, new Map([...labels, ...(file.variables[place]?.labels ?? [])]));
  }
  const variables = file.variables.map((variable, place) => ({
    ...variable,
    labels: shared.get(place) ?? variable.labels,
  }));
  return { ...file, variables };
}

/** The labels of all variables, where the first one of a value counts; a value without one is labelled by itself. */
function labelsOfCategories(places: readonly number[], { variables, cases }: SpssFile): SpssVariable['labels'] {
  const labels = new Map(places.flatMap((place) => [...(variables[place]?.labels ?? [])]).reverse());
  for (const row of cases)
    for (const place of places) {
      const value = row[place] ?? '';
      const isAnswer = value !== '' && variables[place]?.isUserMissing(value) === false;
      if (isAnswer && !labels.has(value)) labels.set(value, String(value));
    }
  return labels;
}

interface ReadVariable {
  cells: readonly string[];
  declared?: Declared;
  remarks: readonly string[];
}

/** The most that a question takes. */
const maxOptions = 200;
const maxOptionLength = 500;

function readVariable(file: SpssFile, variable: SpssVariable, place: number): ReadVariable {
  const title = `“${(oneLine(variable.label) || variable.name).slice(0, 100)}”`;
  const remarks: string[] = [];
  const missing: string[] = [];
  const values = file.cases.map((row): SpssValue => {
    const value = row[place] ?? null;
    if (value === null || value === '') return null;
    if (!variable.isUserMissing(value)) return value;
    missing.push(variable.labels.get(value) ?? String(value));
    return null;
  });
  if (missing.length > 0) remarks.push(`${title}: missing, as the file says: ${withCounts(missing)}.`);
  const options = optionsOf(variable);
  const bare = values.filter((value) => value !== null && !options.has(value)).length;
  if (options.size > 0 && bare === 0) {
    const cells = values.map((value) => (value === null ? '' : (options.get(value) ?? '')));
    if (options.size <= maxOptions) return { remarks, cells, declared: { options: [...options.values()] } };
    const chosen = chosenOptions(options, place, file);
    const isFew = chosen.length > 0 && chosen.length <= maxOptions;
    const consequence = isFew ? 'those that nobody chose are left out' : 'they are taken as texts';
    remarks.push(`${title}: more than ${maxOptions} values have labels, so that ${consequence}.`);
    return { remarks, cells, declared: isFew ? { options: chosen } : { type: 'SHORT_TEXT' } };
  }
  if (options.size > 0)
    remarks.push(`${title}: ${bare} values have no label, so that the values are taken and not the labels.`);
  const isUnfit = (value: SpssValue): boolean => typeof value === 'number' && !isExactNumber(value);
  const unfit = values.filter(isUnfit);
  if (unfit.length > 0)
    remarks.push(
      `${title}: left out, as the service takes whole numbers up to ${Number.MAX_SAFE_INTEGER}: ${withCounts(unfit.map(String))}.`,
    );
  return {
    remarks,
    cells: values.map((value) => (value === null || isUnfit(value) ? '' : textOf(value, variable))),
  };
}

/**
 * Unique labels by value, in the order of the values; without missing values, and empty if each label is its number.
 */
function optionsOf({ labels, isUserMissing }: SpssVariable): Map<number | string, string> {
  const sorted = [...labels]
    .filter(([value]) => !isUserMissing(value))
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
  const taken = new Set<string>();
  const options = new Map<number | string, string>();
  for (const [value, label] of sorted) {
    const plain = oneLine(label).slice(0, maxOptionLength - 20) || String(value);
    const text = taken.has(plain) ? `${plain} (${value})` : plain;
    taken.add(text);
    options.set(value, text);
  }
  return [...options].every(([value, text]) => String(value) === text) ? new Map() : options;
}

/** The options that the variable's cases have, or those of another variable of its set of categories. */
function chosenOptions(options: ReadonlyMap<number | string, string>, place: number, file: SpssFile): string[] {
  const set = file.sets.find(({ counted, variables }) => counted === undefined && variables.includes(place));
  const places = set?.variables ?? [place];
  const chosen = new Set<SpssValue | undefined>();
  for (const row of file.cases) for (const index of places) chosen.add(row[index]);
  return [...options].filter(([value]) => chosen.has(value)).map(([, label]) => label);
}

/** The numbers of print formats whose values are seconds: since 14 October 1582, or of a day. */
const dateFormats: ReadonlySet<number> = new Set([20, 23, 24, 28, 29, 30, 38, 39]);
const momentFormats: ReadonlySet<number> = new Set([22, 41]);
const timeFormats: ReadonlySet<number> = new Set([21, 25]);
const firstDayMs = Date.UTC(1582, 9, 14);

function textOf(value: number | string, { format }: SpssVariable): string {
  if (typeof value === 'string') return value;
  if (timeFormats.has(format)) return durationText(value);
  if (!dateFormats.has(format) && !momentFormats.has(format)) return String(value);
  const date = new Date(firstDayMs + Math.round(value) * 1000);
  if (Number.isNaN(date.getTime())) return String(value);
  const iso = date.toISOString();
  return momentFormats.has(format) ? iso.slice(0, 19).replace('T', ' ') : iso.slice(0, 10);
}

interface Sheet {
  columns: readonly Column[];
  rows: readonly Row[];
}

/** Separates the choices of a merged cell: no text of a file has it. */
const choiceMark = '\u001f';

/**
 * Makes the variables of a set one question. Those of dichotomies become its options, their cells the option's text
 * where it is chosen. Those of categories are merged into the cells of the first.
 */
function applySet({ columns, rows }: Sheet, set: SpssSet, file: SpssFile): Sheet {
  const { label, variables, counted } = set;
  const members = variables.flatMap((index) => columns.find((column) => column.index === index) ?? []);
  const [first] = members;
  if (first === undefined || members.length < 2) return { columns, rows };
  const setLabel = oneLine(label) || first.question;
  const isMember = (index: number): boolean => members.some((column) => column.index === index);
  if (counted === undefined) {
    // More options than a question takes.
    if (members.some(({ declared }) => declared?.type === 'SHORT_TEXT')) return { columns, rows };
    const options = [...new Set(members.flatMap(({ declared }) => declared?.options ?? []))];
    const merged = {
      ...first,
      question: setLabel,
      declared: { ...(options.length > 0 && { options }), split: choiceMark },
    };
    return {
      columns: columns.flatMap((column) => (column === first ? merged : isMember(column.index) ? [] : column)),
      rows: rows.map((row) => {
        const chosen = members.map(({ index }) => row[index] ?? '').filter((cell) => cell !== '');
        return row.map((cell, index) => (index === first.index ? chosen.join(choiceMark) : cell));
      }),
    };
  }
  const questions = members.map((member) => member.question);
  const byValue = members.map(
    (member) => oneLine(file.variables[member.index]?.labels.get(counted) ?? '') || member.question,
  );
  const areDistinct = new Set(byValue).size === byValue.length;
  const labels = set.isLabelledByValue && areDistinct ? byValue : questions;
  const { question, options } = splitLabels(setLabel, labels);
  const parts = new Map(members.map(({ index }, place) => [index, options[place] ?? '']));
  return {
    columns: columns.map(({ declared, ...column }) => {
      const part = parts.get(column.index);
      if (part === undefined) return { ...column, ...(declared && { declared }) };
      return { ...column, run: first.run, question, part, declared: { type: 'CHECKBOXES' as const } };
    }),
    rows: rows.map((row, place) =>
      row.map((cell, index) => {
        const part = parts.get(index);
        return part === undefined ? cell : file.cases[place]?.[index] === counted ? part : '';
      }),
    ),
  };
}
