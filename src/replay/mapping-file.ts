import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { questionTypeNames } from '../domain/questions/type-names.ts';
import { decimalMarks } from './decimals.ts';
import type { Mapping } from './mapping.ts';
import { givenDayOrders } from './recognise.ts';

const missingValues = z.array(z.string().trim().max(500)).max(200).optional();
const dayOrder = z.enum(givenDayOrders).optional();

const columnOverride = z.strictObject({
  type: z.enum(questionTypeNames).exclude(['FILE_UPLOAD']).optional(),
  question: z.string().trim().min(1).max(2000).optional(),
  options: z.array(z.string().trim().min(1).max(500)).min(1).max(200).optional(),
  ignore: z.literal(true).optional(),
  decimal: z.enum(decimalMarks).optional(),
  dayOrder,
  missing: missingValues,
  split: z.string().min(1).max(5).optional(),
  values: z.record(z.string(), z.string().trim().min(1).max(500)).optional(),
});

/** The mapping of a file; `docs/guide/replay.md` says what each field means. */
const mappingSchema = z.strictObject({
  missing: missingValues,
  dayOrder,
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
