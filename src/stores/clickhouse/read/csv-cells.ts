import type { AskedPart } from '../../../domain/analytics/asked.ts';
import type { ResponseFieldName } from '../../../domain/export-formats.ts';
import { notAskedText } from '../../../domain/export-formats.ts';
import { outcomes } from '../../../domain/outcome.ts';
import { bitOfCode, type Category, type ExportCell, otherCode } from '../../../domain/questions/contract.ts';
import { isNotAsked } from '../counts/not-asked.ts';
import { sqlInteger, sqlString } from '../sql-literals.ts';
import type { ColumnOf } from './selection.ts';

/** The response fields that are columns of the table; a collector is stored as a code. */
type StoredField = Exclude<ResponseFieldName, 'collectorId'>;

/**
 * A column of a CSV file: a field of the response, the id of its collector, a key of its metadata, or an answer with
 * the final text of each category.
 */
export type CsvColumn =
  | { field: StoredField }
  | { collectorSlot: number | null; ids: ReadonlyMap<number, string> }
  | { metadataKey: string }
  | AnswerColumn;

interface AnswerColumn {
  cell: ExportCell;
  textOf(category: Category): string;
  asked?: AskedAt;
}

/** Set where missing answers are labelled: the question or row, and its question's place from 1. */
interface AskedAt {
  part: AskedPart;
  place: number;
}

/** Columns side by side that are flags of one question or row, in the same one of its `slots`. */
interface FlagColumns {
  slots: readonly number[];
  word: number;
  bits: number[];
  asked: AskedAt | undefined;
}

/** Names what several cells of a statement use. */
export interface NamesInStatement {
  /** Gives an expression over a response a name, under which the statement computes it once for all cells. */
  nameOf(expression: string): string;
  /** Gives a constant a name, under which the statement holds it once for all cells. */
  nameOfConstant(expression: string): string;
}

/**
 * SQL for the final texts of the cells of a line, quoted and safe for spreadsheets; '' if empty. Their bytes must equal
 * those of other formats (test/integration/pipelines/exports/hostile-cells.test.ts compares them). Flags side by side
 * are one expression that also writes the commas between them: ClickHouse takes more than a millisecond to prepare
 * each expression, and a MATRIX can have 15,000 flags.
 */
export function csvCells(columns: readonly CsvColumn[], columnOf: ColumnOf, names: NamesInStatement): string[] {
  return joinFlags(columns).map((column) =>
    'bits' in column ? flagTexts(column, columnOf, names) : cellText(column, columnOf, names),
  );
}

function joinFlags(columns: readonly CsvColumn[]): (CsvColumn | FlagColumns)[] {
  const joined: (CsvColumn | FlagColumns)[] = [];
  for (const column of columns) {
    if (!('cell' in column) || column.cell.kind !== 'flag') {
      joined.push(column);
      continue;
    }
    const { slots, code } = column.cell;
    const { word, bit } = bitOfCode(code);
    const last = joined.at(-1);
    if (last && 'bits' in last && last.slots === slots && last.word === word) last.bits.push(bit);
    else joined.push({ slots, word, bits: [bit], asked: column.asked });
  }
  return joined;
}

function flagTexts(
  { slots, word, bits, asked }: FlagColumns,
  columnOf: ColumnOf,
  { nameOf }: NamesInStatement,
): string {
  const inEach = (text: string): string => sqlString(bits.map(() => text).join(','));
  const words = slots.map(columnOf);
  const isEmpty = words.map((one) => `${one} = 0`).join(' AND ') || '1';
  const texts =
    words[word] === undefined
      ? inEach('0')
      : `arrayStringConcat(arrayMap(bit -> if(bitTest(${words[word]}, bit), '1', '0'), [${bits.map(sqlInteger).join(', ')}]), ',')`;
  // All words of a question have the same conditions, which name each of its slots.
  const notAsked = asked ? `${nameOf(isNotAskedAt(asked, columnOf))}, ${inEach(notAskedText)}, ` : '';
  return `multiIf(${notAsked}${words.length > 1 ? nameOf(isEmpty) : isEmpty}, ${inEach('')}, ${texts})`;
}

function cellText(column: CsvColumn, columnOf: ColumnOf, names: NamesInStatement): string {
  if ('field' in column) return fieldExpressions[column.field];
  if ('ids' in column)
    return labelText(column.collectorSlot === null ? 'toUInt16(0)' : columnOf(column.collectorSlot), column.ids, names);
  if ('metadataKey' in column) return spreadsheetSafe(`metadata[${sqlString(column.metadataKey)}]`);
  const text = answerText(column, columnOf, names);
  if (!column.asked) return text;
  const notAsked = isNotAskedAt(column.asked, columnOf);
  // All ranks of a question have the same condition, which names each of its slots.
  const condition = column.cell.kind === 'rank' ? names.nameOf(notAsked) : notAsked;
  return `if(${condition}, ${sqlString(notAskedText)}, ${text})`;
}

const isNotAskedAt = ({ part, place }: AskedAt, columnOf: ColumnOf): string =>
  isNotAsked(part, { place, last: lastAnsweredColumn, columnOf });

/** The name under which a statement has the place of the last answered question, where missing answers are labelled. */
export const lastAnsweredColumn = 'last_answered';

const fieldExpressions: Readonly<Record<StoredField, string>> = {
  id: 'response_id',
  surveyId: 'survey_id',
  surveyVersion: 'survey_version',
  submittedAt: momentText('submitted_at'),
  completedAt: `if(is_complete = 0 OR toUnixTimestamp64Milli(completed_at) = 0, '', ${momentText('completed_at')})`,
  isComplete: "if(is_complete = 0, 'false', 'true')",
  durationSeconds: `if(duration_ms < 0, '', ${numberText('duration_ms / 1000')})`,
  language: spreadsheetSafe('language'),
  respondent: spreadsheetSafe('respondent'),
  // An unknown number counts as COMPLETED, as in `outcomeOfNumber`.
  outcome: `transform(is_complete, [${outcomes.map((_, number) => number).join(', ')}], [${outcomes.map(sqlString).join(', ')}], 'COMPLETED')`,
  // ClickHouse chooses its own one of JSON's two escapes of some control characters.
  metadata: String.raw`if(empty(metadata), '', concat('"', replaceAll(replaceAll(toJSONString(metadata), ';', '\\u003b'), '"', '""'), '"'))`,
};

function answerText({ cell, textOf }: AnswerColumn, columnOf: ColumnOf, names: NamesInStatement): string {
  switch (cell.kind) {
    case 'choice':
      return labelText(
        columnOf(cell.slot),
        new Map(cell.categories.map((category) => [category.code, textOf(category)])),
        names,
      );
    case 'point':
      return labelText(
        columnOf(cell.slot),
        new Map(cell.points.map((point, index) => [index + 1, String(point)])),
        names,
      );
    case 'flag':
      throw new Error('flags are joined before');
    case 'rank':
      return `if(${columnOf(cell.slot)} = 0, '', toString(${columnOf(cell.slot)}))`;
    case 'number':
      return `if(${columnOf(cell.presence)} = 0 OR length(numbers) <= ${sqlInteger(cell.slot)}, '', ${numberText(`numbers[${sqlInteger(cell.slot + 1)}]`)})`;
    case 'text': {
      const isThere =
        cell.code === undefined
          ? `${columnOf(cell.presence)} != 0`
          : `${columnOf(cell.presence)} = ${sqlInteger(cell.code)}`;
      const given = `texts[${sqlInteger(cell.slot + 1)}]`;
      return `if(${isThere}, ${spreadsheetSafe(cell.form === 'upload' ? `splitByChar(' ', ${given})[1]` : given)}, '')`;
    }
  }
}

/**
 * An array of texts by code, since a lookup in a table is slower, and the parser gives up on thousands of branches. The
 * code of free other answers is far beyond all others. The rows of a MATRIX share their texts: 200 texts of 500
 * characters in each of 200 rows would be too long.
 */
function labelText(column: string, texts: ReadonlyMap<number, string>, { nameOfConstant }: NamesInStatement): string {
  const byCode: string[] = [''];
  for (const [code, text] of texts) {
    if (code === otherCode) continue;
    while (byCode.length <= code) byCode.push('');
    byCode[code] = text;
  }
  const found = `${nameOfConstant(`[${byCode.map(sqlString).join(', ')}]`)}[${column} + 1]`;
  const other = texts.get(otherCode);
  return other === undefined ? found : `if(${column} = ${sqlInteger(otherCode)}, ${sqlString(other)}, ${found})`;
}

/** ISO 8601 in UTC with milliseconds. */
function momentText(column: string): string {
  return `concat(replaceOne(toString(${column}), ' ', 'T'), 'Z')`;
}

/**
 * SQL for a number as ECMAScript writes it. ClickHouse has the same shortest digits, but writes −0 and no sign of large
 * exponents.
 */
function numberText(value: string): string {
  return `multiIf(${value} = 0, '0', abs(${value}) >= 1e21, replaceOne(toString(${value}), 'e', 'e+'), toString(${value}))`;
}

/**
 * SQL of `safeText` of the CSV export: text that a spreadsheet would run as a formula gets an apostrophe. Most texts
 * match no special sign and are scanned once.
 */
function spreadsheetSafe(value: string): string {
  const special = String.raw`'[",;\\t\\r\\n]|^\'*[=+\\-@\\x00＝＋－＠]'`;
  const dangerous = String.raw`'^\'*[=+\\-@\\t\\r\\n\\x00＝＋－＠]'`;
  const inside = String.raw`'([;\\t\\r\\n])(["\']*[=+\\-@\\x00＝＋－＠])'`;
  const begun = `if(match(${value}, ${dangerous}), concat('\\'', ${value}), ${value})`;
  const within = String.raw`replaceRegexpAll(replaceRegexpAll(${begun}, ${inside}, '\\1\'\\2'), '([;\\t\\r\\n])\'-\\)', '\\1-)')`;
  const safe = csvQuoted(String.raw`if(match(${value}, '[;\\t\\r\\n]'), ${within}, ${begun})`);
  return `if(match(${value}, ${special}), ${safe}, ${value})`;
}

function csvQuoted(value: string): string {
  return String.raw`if(match(${value}, '[",\\r\\n]'), concat('"', replaceAll(${value}, '"', '""'), '"'), ${value})`;
}
