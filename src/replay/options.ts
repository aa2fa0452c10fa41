import { parseArgs } from 'node:util';
import { cutText } from '../platform/cut-text.ts';
import type { Credentials } from './api.ts';
import { type DecimalMark, decimalMarks } from './decimals.ts';
import { type GivenDayOrder, givenDayOrders } from './recognise.ts';
import { type Separator, separators } from './separator.ts';

export const usage = `npm run replay -- FILE [options]

Creates a survey from a file of responses (CSV, Excel .xlsx or SPSS .sav), publishes it, submits every row through the public interface, prints the counts of every
question and a crosstab, and compares them cell by cell with the file. Exits with 1 if anything differs.

  --url ORIGIN            the service (default http://127.0.0.1:3000)
  --email E --password P  who creates the survey (default: ADMIN_EMAIL or admin@localhost, ADMIN_PASSWORD)
  --token TOKEN           an access token or API key instead
  --title TEXT            the survey's title (default: the file's name)
  --survey ID             continue a survey made from the same file within 47 hours; no row is counted twice
  --mapping FILE.json     overrides what is recognised (see below)
  --separator MARK        between cells: "," or ";" or "tab" (default: recognised by the first lines)
  --sheet NAME            the sheet of an Excel file (default: the first one that has cells)
  --decimal MARK          the decimal mark of numbers: "," or "." (default: recognised by column)
  --day-order ORDER       of day and month, as in 1/2/2024: "DMY" or "MDY" (default: recognised by column)
  --crosstab A B          two questions to cross, by wording or a unique part of it; a matrix row by its text
  --concurrency N         concurrent submissions, 1 to 1000 (default 32)
  --no-verify             do not compare
  --detect                print what is recognised and send nothing

The file has one header row, or two if the second names options, rows or items. Text is UTF-8, UTF-16 or Windows-1252. Exports of
SurveyMonkey, LimeSurvey, Typeform, Qualtrics and this service are recognised by their heads; columns about respondents and
devices are left out. An SPSS file says its questions, options, missing values and sets itself. An empty cell is no answer; nor is
NA, N/A, unknown, - or . where it would change the type. A column that is named as an id and has a different value in every row
is sent as metadata, and so is the time of the answer, as answeredAt: it does not date the response.

The mapping: {"missing": ["-99"], "dayOrder": "DMY", "columns": {"<header, or number of a column from 0>": {"type": "DROPDOWN", "question": "other wording",
  "options": ["in", "this", "order"], "ignore": true, "decimal": ",", "dayOrder": "DMY", "split": ";", "missing": ["-99"], "values": {"1": "Very good"}}}}, each field optional. A header names all columns under it; a number
names one column, which becomes a question of its own. "type" is any question type except FILE_UPLOAD; CHECKBOXES, RANKING and MATRIX
need a header with several columns. Answers that do not fit the type are left out and counted.
`;

export interface Options {
  file: string;
  origin: string;
  credentials: Credentials;
  title: string | undefined;
  surveyId: string | undefined;
  mapping: string | undefined;
  separator: Separator | undefined;
  sheet: string | undefined;
  decimal: DecimalMark | undefined;
  dayOrder: GivenDayOrder | undefined;
  crosstab: readonly [string, string] | undefined;
  concurrency: number;
  isVerifying: boolean;
  isDetectingOnly: boolean;
}

/** Credentials from the environment. */
export interface Defaults {
  email: string | undefined;
  password: string | undefined;
}

/** Parses the arguments; undefined for --help. Throws an Error for wrong arguments. */
export function readOptions(args: readonly string[], defaults: Defaults): Options | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:3000' },
      email: { type: 'string' },
      password: { type: 'string' },
      token: { type: 'string' },
      title: { type: 'string' },
      survey: { type: 'string' },
      mapping: { type: 'string' },
      separator: { type: 'string' },
      sheet: { type: 'string' },
      decimal: { type: 'string' },
      'day-order': { type: 'string' },
      crosstab: { type: 'string' },
      concurrency: { type: 'string', default: '32' },
      verify: { type: 'boolean', default: true },
      detect: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const { file, crosstab } = readPlaces(args, positionals, values.crosstab);
  const { email = defaults.email ?? 'admin@localhost', password = defaults.password ?? '', token } = values;
  if (!values.detect && token === undefined && password === '')
    throw new Error('Set ADMIN_PASSWORD, or give --password or --token');
  return {
    file,
    crosstab,
    origin: readOrigin(values.url),
    credentials: token === undefined ? { email, password } : { token },
    title: cutText(values.title?.trim() ?? '', 300) || undefined,
    surveyId: values.survey,
    mapping: values.mapping,
    separator: oneOf('--separator', separators, values.separator === 'tab' ? '\t' : values.separator),
    sheet: values.sheet,
    decimal: oneOf('--decimal', decimalMarks, values.decimal),
    dayOrder: oneOf('--day-order', givenDayOrders, values['day-order']),
    concurrency: readConcurrency(values.concurrency),
    isVerifying: values.verify,
    isDetectingOnly: values.detect,
  };
}

function oneOf<T extends string>(option: string, known: readonly T[], text: string | undefined): T | undefined {
  const found = known.find((mark) => mark === text);
  if (text !== undefined && found === undefined)
    throw new Error(`${option} must be ${known.map((mark) => (mark === '\t' ? 'tab' : `“${mark}”`)).join(' or ')}`);
  return found;
}

/** `--crosstab A B` has two values, but parseArgs reads one; the second is a positional argument. */
function readPlaces(
  args: readonly string[],
  positionals: readonly string[],
  first: string | undefined,
): Pick<Options, 'file' | 'crosstab'> {
  if (first === undefined) return { file: onlyFile(positionals), crosstab: undefined };
  const second = args[args.indexOf('--crosstab') + 2];
  const place = second === undefined ? -1 : positionals.indexOf(second);
  if (second === undefined || place < 0) throw new Error('--crosstab takes two questions');
  return { file: onlyFile(positionals.toSpliced(place, 1)), crosstab: [first, second] };
}

function onlyFile(positionals: readonly string[]): string {
  const [file, stray] = positionals;
  if (file === undefined) throw new Error('Name a file: CSV, .xlsx or .sav');
  if (stray !== undefined) throw new Error(`What is “${stray}”? One file is taken`);
  return file;
}

function readOrigin(url: string): string {
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw new Error('--url must start with http:// or https://');
  return url.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
}

function readConcurrency(text: string): number {
  const concurrency = Number(text);
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1000)
    throw new Error('--concurrency must be a whole number from 1 to 1000');
  return concurrency;
}
