import { basename } from 'node:path';
import { errorMessage } from '../platform/start-error.ts';
import { createApi } from './api.ts';
import { cleanTable } from './clean.ts';
import { defaultVariables, findVariable } from './crosstab.ts';
import { detect } from './detect.ts';
import { emptyMapping } from './mapping.ts';
import { readMapping } from './mapping-file.ts';
import { type Options, readOptions, usage } from './options.ts';
import { readTable } from './read-table.ts';
import { createProgressPrinter, detectionLines } from './report.ts';
import { replay } from './run.ts';

/** Exit code of `npm run replay`: 0 if all is equal, 1 if something differs or fails, 2 for wrong arguments. */
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const options = parseArguments(args);
  if (typeof options === 'number') return options;
  try {
    return (await run(options)) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`\n${errorMessage(error)}\n`);
    return 1;
  }
}

function parseArguments(args: readonly string[]): Options | number {
  try {
    const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = process.env;
    const options = readOptions(args, { email, password });
    if (options) return options;
    print(usage);
    return 0;
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n\n${usage}`);
    return 2;
  }
}

/** Checks the file, the mapping and the crosstab's names before calling the service. */
async function run(options: Options): Promise<boolean> {
  const read = options.mapping === undefined ? emptyMapping : readMapping(options.mapping);
  const mapping = { ...read, dayOrder: options.dayOrder ?? read.dayOrder };
  const { table: given, digest, separator } = await readTable(options.file, options);
  const table = cleanTable(given, mapping, { separator, decimal: options.decimal });
  const detection = detect(table, mapping);
  if (options.isDetectingOnly) {
    for (const line of detectionLines(table, detection)) print(line);
    return true;
  }
  const [first, second] = options.crosstab ?? [];
  const find = (name: string) => findVariable(detection.questions, name);
  const crosstab =
    first === undefined || second === undefined
      ? defaultVariables(detection.questions)
      : ([find(first), find(second)] as const);
  const progress = createProgressPrinter(process.stderr);
  const api = createApi({ ...options, onPause: progress.pause });
  const fileName = basename(options.file);
  return replay({
    ...options,
    api,
    table,
    detection,
    digest,
    fileName,
    crosstab,
    title: options.title ?? fileName,
    print,
    onProgress: progress.count,
  });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
