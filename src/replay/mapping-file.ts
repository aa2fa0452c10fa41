import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { questionTypeNames } from '../domain/questions/type-names.ts';
import { decimalMarks } from './decimals.ts';
import type { Mapping } from './mapping.ts';

const missingValues = z.array(z.string().trim().max(500)).max(200).optional();

const columnOverride = z.strictObject({
  type: z.enum(questionTypeNames).exclude(['FILE_UPLOAD']).optional(),
  question: z.string().trim().min(1).max(2000).optional(),
  options: z.array(z.string().trim().min(1).max(500)).min(1).max(200).optional(),
  ignore: z.literal(true).optional(),
  decimal: z.enum(decimalMarks).optional(),
  missing: missingValues,
  split: z.string().min(1).max(5).optional(),
  values: z.record(z.string(), z.string().trim().min(1).max(500)).optional(),
});

/**
 * Overrides what is recognised, by the header of a question or by the index of a column from 0:
 *
 *     {"columns": {"How old are you?": {"type": "DROPDOWN", "options": ["under 30", "30 to 59", "60 and over"]},
 *                  "4": {"question": "Where do you live?"},
 *                  "17": {"ignore": true}}}
 *
 * `type` is any question type except FILE_UPLOAD; `question` is another wording; `options` are the options in order
 * (other answers are left out and counted); `ignore` leaves the columns out. `decimal` is the decimal mark of
 * numbers; `missing` are the cells that are no answers, instead of the usual words, beside `columns` for all columns;
 * `values` translates cells; `split` separates the choices of one cell, as ";" in “App;Web”. A header names all columns
 * under it; an index names one column, which becomes a question of its own. CHECKBOXES, RANKING and MATRIX need a
 * header with several columns.
 */
const mappingSchema = z.strictObject({
  missing: missingValues,
  columns: z.record(z.string(), columnOverride).default({}),
});

/** Throws an Error that says what is wrong with the file. */
export function readMapping(path: string): Mapping {
  const read = mappingSchema.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  if (read.success) return read.data;
  throw new Error(
    `The mapping cannot be used. ${read.error.issues.map((issue) => `${issue.path.join('.') || 'it'}: ${issue.message}`).join('; ')}`,
  );
}
