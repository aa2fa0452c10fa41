import { notAskedText, responseFieldNames } from '../domain/export-formats.ts';
import { otherText, otherValue } from '../domain/questions/contract.ts';
import { withCounts } from './clean.ts';
import { gridParts } from './grid-parts.ts';
import { type Column, cellAt, commonStart, oneLine, type Table, valuesOf } from './table.ts';

/** A survey tool whose exports are recognised by the names of their columns. */
interface SurveyTool {
  name: string;
  /** A question may be called like another column but for the case of letters; else names are in lower case here. */
  hasExactNames?: true;
  /** Columns that every export has; each has one of the names. */
  head: readonly (readonly string[])[];
  id: RegExp;
  /** The time of the answer. */
  time: RegExp;
  /** Columns that are no questions: addresses, names, places, times and devices of respondents. */
  others: RegExp;
  /** Columns about invited respondents, which are no questions where the export has the `key` of each. */
  participants?: { key: RegExp; columns: RegExp };
  /** Variables of an SPSS file that are no questions either. */
  otherVariables?: RegExp;
  /** The text that stands where a question was not asked; no answer. */
  missing?: string;
  /** The same in all columns of a question with options to tick; in other columns it may be an answer. */
  missingTick?: RegExp;
  /** Several choices never stand in one cell. */
  hasOneAnswerACell?: true;
  /** Brings the columns of one question together. */
  group?(columns: readonly Column[], table: Table): readonly Column[];
}

const ownExport: SurveyTool = {
  name: 'this service',
  hasExactNames: true,
  head: [['id'], ['surveyVersion'], ['submittedAt']],
  id: /^id$/,
  time: /^submittedAt$/,
  others: new RegExp(`^(?:${responseFieldNames.join('|')}|metadata\\..*)$`),
  otherVariables: /^M_/,
  missing: notAskedText,
  hasOneAnswerACell: true,
  group: groupOwn,
};

/** LimeSurvey writes this where a condition hid the question. */
const notShown = /^n\/a$/i;

const tools: readonly SurveyTool[] = [
  ownExport,
  {
    name: 'Qualtrics',
    head: [['_recordid']],
    id: /^_recordid$/,
    time: /^enddate$/,
    others:
      /^(?:startdate|status|ipaddress|progress|duration|finished|recordeddate|recipient(?:lastname|firstname|email)|externaldatareference|location(?:latitude|longitude)|distributionchannel|userlanguage)$/,
    group: groupByImportId,
  },
  {
    name: 'SurveyMonkey',
    head: [
      ['respondent id', 'respondent_id'],
      ['collector id', 'collector_id'],
    ],
    id: /^respondent[ _]id$/,
    time: /^(?:end date|date_modified)$/,
    others:
      /^(?:collector[ _]id|start date|date_created|(?:ip|email)[ _]address|(?:first|last)[ _]name|custom(?: data |_)\d+)$/,
  },
  {
    name: 'LimeSurvey',
    head: [
      ['id', 'response id'],
      ['submitdate', 'date submitted'],
      ['lastpage', 'last page'],
    ],
    id: /^(?:id|response id)$/,
    time: /^(?:submitdate|date submitted)$/,
    others:
      /^(?:lastpage|last page|startlanguage|start language|seed|token|access code|startdate|date started|datestamp|date last action|ipaddr|ip address|refurl|referrer url|interviewtime|total time|group ?time.*|question ?time.*|\d+x\d+(?:x\d+)?time)$/,
    participants: {
      key: /^(?:token|access code)$/,
      columns:
        /^(?:first ?name|last ?name|email(?: address)?|email ?status|attribute[_ ]\d+|participant[_ ]id|sent|reminder ?(?:sent|count)|uses ?left|valid ?(?:from|until))$/,
    },
    missingTick: notShown,
    group: groupYesNo,
  },
  {
    name: 'Typeform',
    head: [['#'], ['network id'], ['submit date (utc)']],
    id: /^#$/,
    time: /^submit date \(utc\)$/,
    others: /^(?:response type|(?:start|stage) date \(utc\)|network id|tags|ending|score)$/,
    group: groupOwnNames,
  },
];

/** The tool whose exports have columns of these names. */
function toolOf(names: readonly string[]): SurveyTool | undefined {
  const exact = new Set(names);
  const inLowerCase = new Set(names.map((name) => name.toLowerCase()));
  return tools.find(({ head, hasExactNames }) => {
    const known = hasExactNames ? exact : inLowerCase;
    return head.every((allowed) => allowed.some((name) => known.has(name)));
  });
}

/** Whether a file with this head is an export of this service. */
export const isOwnExport = (head: readonly string[]): boolean => toolOf(head) === ownExport;

/**
 * Gives columns their roles in an export of a known survey tool, and brings together neighbouring columns of one
 * question that are named “question [option]”, or as the tool does.
 */
export function recogniseTool(table: Table): Table {
  const withoutCodes = table.columns.map(withoutCode);
  const tool = toolOf(withoutCodes.filter(({ part }) => part === '').map(nameOf));
  if (!tool) return { ...table, columns: groupBracketed(table.columns) };
  const columns = tool === ownExport ? table.columns : withoutCodes;
  const isOfParticipants = participantColumns(columns, tool);
  const withRoles = columns.map((column): Column => {
    const role = roleOf(column, tool) ?? (isOfParticipants(column) ? 'other' : undefined);
    if (role !== undefined) return { ...column, role };
    return tool.hasOneAnswerACell ? { ...column, declared: { split: null, ...column.declared } } : column;
  });
  const questions = withRoles.filter(({ role }) => role === undefined);
  const asked = withoutMissing(table, questions, (cell) => cell === tool.missing);
  const bracketed = groupBracketed(withRoles);
  const grouped = tool.group?.(bracketed, asked) ?? bracketed;
  const tickRuns = new Set(grouped.filter(isOptionToTick).map(({ run }) => run));
  const inTickRuns = grouped.filter(({ run }) => tickRuns.has(run));
  const isMissing = (cell: string) => tool.missingTick?.test(cell) === true;
  const answered = withoutMissing(
    asked,
    inTickRuns,
    (cell, column, row) =>
      isMissing(cell) &&
      (isOptionToTick(column) || isHiddenIn(row, { run: column.run, columns: inTickRuns, isMissing })),
  );
  const leftOut = withRoles.filter(({ role }) => role === 'other').map(({ question }) => question);
  const without = leftOut.length > 0 ? `; left out: ${leftOut.join(', ')}` : '';
  return {
    ...answered,
    columns: grouped,
    remarks: [`Recognised as an export of ${tool.name}${without}.`, ...answered.remarks],
  };
}

const nameOf = ({ name, question }: Column): string => name ?? question;

/** The kind of a column that is no question; undefined: a question. */
function roleOf(column: Column, { id, time, others, otherVariables, hasExactNames }: SurveyTool): Column['role'] {
  if (column.part !== '') return undefined;
  const name = hasExactNames ? nameOf(column) : nameOf(column).toLowerCase();
  if (id.test(name)) return 'id';
  if (time.test(name)) return 'time';
  const isOtherVariable = column.name !== undefined && otherVariables?.test(column.name);
  return others.test(name) || isOtherVariable ? 'other' : undefined;
}

/** Returns whether a column is about invited respondents, whose names and addresses are no answers. */
function participantColumns(columns: readonly Column[], { participants }: SurveyTool): (column: Column) => boolean {
  const isNamed = (column: Column, names: RegExp) => column.part === '' && names.test(nameOf(column).toLowerCase());
  if (!participants || !columns.some((column) => isNamed(column, participants.key))) return () => false;
  return (column) => isNamed(column, participants.columns);
}

const isOptionToTick = ({ declared }: Column): boolean => declared?.type === 'CHECKBOXES';

/**
 * Whether an option of the question was not shown in this row: else its column of texts, as of “Other”, holds what the
 * respondent wrote.
 */
const isHiddenIn = (
  row: Table['rows'][number],
  { run, columns, isMissing }: { run: number; columns: readonly Column[]; isMissing(cell: string): boolean },
): boolean =>
  columns.some((column) => column.run === run && isOptionToTick(column) && isMissing(cellAt(row, column.index)));

/** The table with empty cells where those of `columns` say that the question was not asked. */
function withoutMissing(
  table: Table,
  columns: readonly Column[],
  isMissing: (cell: string, column: Column, row: Table['rows'][number]) => boolean,
): Table {
  const places = new Map(columns.map((column) => [column.index, column]));
  const missing: string[] = [];
  const rows = table.rows.map((row) =>
    row.map((cell, index) => {
      const column = places.get(index);
      if (column === undefined || !isMissing(cellAt(row, index), column, row)) return cell;
      missing.push(cellAt(row, index));
      return '';
    }),
  );
  return missing.length === 0
    ? table
    : { ...table, rows, remarks: [...table.remarks, `Taken as missing: ${withCounts(missing)}.`] };
}

/** LimeSurvey can write “G01Q02[SQ1]. Question [option]”: the wording without the code, which stays its name. */
function withoutCode(column: Column): Column {
  const [, code, wording] = /^([A-Za-z]\w*(?:\[[^\]]*\])*)\. (.+)$/.exec(column.question) ?? [];
  return code === undefined || wording === undefined ? column : { ...column, question: wording, name: code };
}

/** Columns under one question; `question` and `part` of a column that belongs to the one before. */
type Split = (column: Column) => { question: string; part: string } | undefined;

/** Brings together at least two neighbours that `split` gives the same question. */
function groupBy(columns: readonly Column[], split: Split): Column[] {
  const pieces = columns.map((column) => (column.part === '' && column.role === undefined ? split(column) : undefined));
  const isSame = (place: number, other: number): boolean =>
    pieces[place] !== undefined && pieces[place]?.question === pieces[other]?.question;
  let run = 0;
  return columns.map((column, place) => {
    const piece = pieces[place];
    if (piece === undefined || (!isSame(place, place - 1) && !isSame(place, place + 1))) return column;
    if (!isSame(place, place - 1)) run = column.run;
    return { ...column, run, ...piece };
  });
}

const groupBracketed = (columns: readonly Column[]): Column[] =>
  groupBy(columns, ({ question }) => {
    const [, text, part] = /^(.+?) ?\[([^[\]]+)\]$/.exec(question) ?? [];
    return text === undefined || part === undefined ? undefined : { question: text, part };
  });

/** Columns of this service: with labels as values, those of one question are together too. */
function groupOwn(columns: readonly Column[], table: Table): readonly Column[] {
  return withOtherTexts(rowsOfGrids(groupCoded(columns), table));
}

const codedQuestion = /^Q\d+$/;

/** With labels as values this service names the columns of one question Q4:a, Q4:b …; a row and column Q5:row:column. */
function groupCoded(columns: readonly Column[]): Column[] {
  return groupBy(columns, ({ question }) => {
    const [, text, part] = /^(Q\d+):(.+)$/.exec(question) ?? [];
    return text === undefined || part === undefined ? undefined : { question: text, part };
  });
}

/**
 * A MATRIX with several choices in a row has a column for each row and option, `row: option`, with a 1 where it is
 * chosen: each row becomes a question, as it is in SPSS files of this service.
 */
function rowsOfGrids(columns: readonly Column[], { rows }: Table): readonly Column[] {
  const runs = new Map<number, Column[]>();
  for (const column of columns) if (column.part !== '') runs.set(column.run, [...(runs.get(column.run) ?? []), column]);
  const inRows = new Map([...runs.values()].flatMap((run) => rowsOfGrid(run, rows)).map((one) => [one.index, one]));
  return columns.map((column) => inRows.get(column.index) ?? column);
}

/** The columns of one question by its rows; empty if they are no such grid. */
function rowsOfGrid(columns: readonly Column[], rows: Table['rows']): Column[] {
  if (!columns.every(({ index }) => valuesOf(rows, index).every((cell) => /^[01]$/.test(cell)))) return [];
  const mark = codedQuestion.test(columns[0]?.question ?? '') ? ':' : ': ';
  const parts = gridParts(
    columns.map(({ part }) => part),
    mark,
  );
  let run = 0;
  return columns.flatMap((column, place) => {
    const { row, option } = parts?.[place] ?? {};
    if (row === undefined || option === undefined) return [];
    if (row !== parts?.[place - 1]?.row) run = column.index;
    const declared = { ...column.declared, type: 'CHECKBOXES' as const };
    return { ...column, run, question: `${column.question} [${row}]`, part: option, declared };
  });
}

/** The column after that of a choice, with its name and “Other”, has the texts that respondents wrote. */
function withOtherTexts(columns: readonly Column[]): readonly Column[] {
  return columns.map((column, place): Column => {
    const question = columns[place - 1]?.question ?? '';
    const isOther = column.question === `${question} [${otherText}]` || column.question === `${question}:${otherValue}`;
    return isOther && column.part === '' ? { ...column, declared: { ...column.declared, type: 'SHORT_TEXT' } } : column;
  });
}

/** Columns of Qualtrics whose ids are QID7_1, QID7_2 …: what their wordings share is the question. */
function groupByImportId(columns: readonly Column[]): Column[] {
  const idOf = ({ name = '' }: Column): string | undefined => /^(QID\d+(?:#\d+)?)(?:_\d+)?$/.exec(name)?.[1];
  const shared = new Map<string, string>();
  for (const column of columns) {
    const id = idOf(column);
    if (id === undefined) continue;
    const known = shared.get(id);
    shared.set(id, known === undefined ? column.question : commonStart(known, column.question));
  }
  const grouped = groupBy(columns, (column) => {
    const question = shared.get(idOf(column) ?? '') ?? '';
    const end = question.lastIndexOf(' - ');
    return end > 0 && column.question.length > end + 3
      ? { question: question.slice(0, end), part: column.question.slice(end + 3) }
      : undefined;
  });
  const plain = (text: string): string => text.replace(/ - (?:Selected Choice|Text)$/, '');
  return grouped.map((column) => ({ ...column, question: plain(column.question), part: plain(column.part) }));
}

/** Columns under one question of LimeSurvey that say Yes or Y where an option is chosen are options to tick. */
function groupYesNo(columns: readonly Column[], { rows }: Table): Column[] {
  const isTicks = ({ index }: Column): boolean =>
    valuesOf(rows, index).every((cell) => /^(?:yes|no|y)$/i.test(cell) || notShown.test(cell));
  const runs = new Map<number, boolean>();
  for (const column of columns)
    if (column.part !== '' && !/^other$/i.test(column.part))
      runs.set(column.run, (runs.get(column.run) ?? true) && isTicks(column));
  return columns.map((column) =>
    column.part !== '' && runs.get(column.run) === true && isTicks(column)
      ? { ...column, declared: { type: 'CHECKBOXES' as const } }
      : column,
  );
}

/**
 * Neighbouring columns of Typeform whose only answer is their own name are the options of a question without a name.
 */
function groupOwnNames(columns: readonly Column[], { rows }: Table): Column[] {
  const isTick = ({ question, part, role, index }: Column): boolean =>
    part === '' &&
    role === undefined &&
    valuesOf(rows, index).length > 0 &&
    valuesOf(rows, index).every((cell) => oneLine(cell) === question);
  let first: number | undefined;
  return columns.map((column, place) => {
    const isNeighbour = [columns[place - 1], columns[place + 1]].some((other) => other && isTick(other));
    if (!isTick(column) || !isNeighbour) {
      first = undefined;
      return column;
    }
    first ??= place;
    const [start] = [first];
    const end = columns.findIndex((other, at) => at > start && !isTick(other));
    const options = columns.slice(start, end < 0 ? undefined : end).map(({ question }) => question);
    return { ...column, run: columns[start]?.run ?? column.run, question: options.join(' / '), part: column.question };
  });
}
