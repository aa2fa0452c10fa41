import { z } from 'zod';
import { canonicalLanguage, languageMessage, languageTag } from '../../domain/language.ts';
import { type ProblemCode, problemTable } from '../../errors.ts';
import { isId } from '../../platform/ids.ts';

/**
 * The reply schemas of this folder describe what the service sends. They are strict, so that tests notice an
 * undocumented field; the reference asks clients to ignore fields that they do not know.
 */

/** An id: a UUID in lower case. The service makes version 7; a `responseId` may have been made by the client. */
export const idSchema = z.string().refine(isId, 'must be a UUID in lower case').meta({ format: 'uuid' });

/** An id in a request. Malformed ids are a 404, like unknown ones. */
export const idInputSchema = z.string().max(200).meta({ format: 'uuid' });

/** A time: ISO 8601, UTC, with milliseconds. */
export const timeSchema = z.iso.datetime({ precision: 3 });

/** A UTC day, `YYYY-MM-DD`. */
export const daySchema = z.iso.date();

export const countSchema = z.number().int().min(0);

export const languageSchema = z
  .string()
  .max(35)
  .regex(languageTag, languageMessage)
  .meta({ examples: ['en', 'zh-Hans'] });

/** A language in a request, transformed to its canonical form. */
export const languageField = languageSchema
  .refine((text) => canonicalLanguage(text) !== undefined, languageMessage)
  .transform((text) => canonicalLanguage(text) ?? text)
  .describe('A BCP 47 tag, kept in its canonical form: `EN` becomes `en`, `zh-hans` `zh-Hans`');

export const deletedSchema = z
  .strictObject({ id: idSchema, deleted: z.literal(true) })
  .meta({ id: 'Deleted', description: 'The reply to a deletion.' });

export const paginationSchema = z
  .strictObject({
    page: z.number().int().min(1).describe('The requested page; without meaning if the request has a `cursor`'),
    limit: z.number().int().min(1),
    total: countSchema.describe('Number of items on all pages'),
    nextCursor: z
      .string()
      .nullable()
      .optional()
      .describe('For lists that page by cursor: the cursor of the next page, null on the last one'),
  })
  .meta({ id: 'Pagination', description: 'The position of this page in its list.' });

export const problemCodeSchema = z.enum(Object.keys(problemTable) as [ProblemCode, ...ProblemCode[]]);

export const validationIssueSchema = z
  .strictObject({
    path: z
      .string()
      .describe('The path of the invalid field, such as `answers.0.numberValue`; empty for the whole body'),
    message: z.string(),
  })
  .meta({ id: 'ValidationIssue', description: 'One fault of a request.' });

export const problemSchema = z
  .strictObject({
    success: z.literal(false),
    message: z.string().describe('For people; its wording may change'),
    code: problemCodeSchema,
    requestId: z.string().describe('The same as the X-Request-Id header'),
    details: z
      .union([z.array(validationIssueSchema).max(20), z.record(z.string(), z.unknown())])
      .optional()
      .describe(
        'VALIDATION_ERROR: at most 20 issues. Otherwise an object, with `reason` for CONFLICT and where a submission cannot continue its response',
      ),
  })
  .meta({ id: 'Problem', description: 'The body of every refusal.' });

export const healthResult = z.enum(['ok', 'failed', 'timed out']);

export const healthSchema = z
  .strictObject({
    status: z.literal('ready'),
    checks: z.record(z.string(), healthResult).describe('The result of each check'),
    degraded: z
      .array(z.string())
      .describe('Checks that failed although submissions are taken: stores that are away, or hold damaged data'),
  })
  .meta({ id: 'Health', description: 'Whether the service can take submissions.' });
