import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { questionTypeNames } from '../domain/questions/registry.ts';

const columnMapping = z.strictObject({
  type: z.enum(questionTypeNames).optional(),
  question: z.string().min(1).optional(),
  options: z.array(z.string().min(1)).optional(),
  ignore: z.boolean().optional(),
});

/**
 * Overrules what was recognised: `{"columns": {"<header or column number from 0>": {"type": "DROPDOWN", "question": "other wording",
 * "options": ["in", "this", "order"], "ignore": true}}}`. A question of several columns is named by its header.
 */
const mappingSchema = z.strictObject({ columns: z.record(z.string(), columnMapping) });

export type Mapping = z.output<typeof mappingSchema>;
export type ColumnMapping = z.output<typeof columnMapping>;

export function readMapping(path: string): Mapping {
  return mappingSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
}
