import type { AskedPart } from '../../../domain/analytics/asked.ts';
import type { ResponseFieldName } from '../../../domain/export-formats.ts';
import { notAskedText } from '../../../domain/export-formats.ts';
import { outcomes } from '../../../domain/outcome.ts';
import { bitsPerWord, type Category, type ExportCell, otherCode } from '../../../domain/questions/contract.ts';
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
  | {
      cell: ExportCell;
      textOf(category: Category): string;
      /** Set where missing answers are labelled: the question or row, and its question's place from 1. */
      asked?: { part: AskedPart; place: number };
    };

/** Names what several cells of a statement use. */
export interface NamesInStatement {
  /** Gives an expression over a response a name, under which the statement computes it once for all cells. */
  nameOf(expression: string): string;
  /** Gives a constant a name, under which the statement holds it once for all cells. */
  nameOfConstant(expression: string): string;
}

/**
 * SQL for the final text of a cell, quoted and safe for spreadsheets; '' if empty. Its bytes must equal those of the
 * cells of other formats (test/integration/pipelines/exports/hostile-cells.test.ts compares them).
 */
export function csvCell(column: CsvColumn, columnOf: ColumnOf, names: NamesInStatement): string {
  if ('field' in column) return fieldExpressions[column.field];
  if ('ids' in column)
    return labelText(column.collectorSlot === null ? 'toUInt16(0)' : columnOf(column.collectorSlot), column.ids, names);
  if ('metadataKey' in column) return spreadsheetSafe(`metadata[${sqlString(column.metadataKey)}]`);
  const text = answerText(column, columnOf, names);
  if (!column.asked) return text;
  const { part, place } = column.asked;
  const notAsked = isNotAsked(part, { place, last: lastAnsweredColumn, columnOf });
  // All columns of a question with flags or ranks have the same condition, which names every slot of the question.
  const isShared = column.cell.kind === 'flag' || column.cell.kind === 'rank';
  const condition = isShared ? names.nameOf(notAsked) : notAsked;
  return `if(${condition}, ${sqlString(notAskedText)}, ${text})`;
}

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

function answerText(
  { cell, textOf }: Extract<CsvColumn, { cell: ExportCell }>,
  columnOf: ColumnOf,
  names: NamesInStatement,
): string {
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
    case 'flag': {
      const words = cell.slots.map(columnOf);
      const word = words[Math.floor((cell.code - 1) / bitsPerWord)];
      const isChosen = word === undefined ? '0' : `bitTest(${word}, ${sqlInteger((cell.code - 1) % bitsPerWord)})`;
      const isEmpty = words.map((one) => `${one} = 0`).join(' AND ') || '1';
      // The flags of a question with many options would each repeat a comparison for each of its columns.
      return `multiIf(${isChosen}, '1', ${words.length > 1 ? names.nameOf(isEmpty) : isEmpty}, '', '0')`;
    }
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
