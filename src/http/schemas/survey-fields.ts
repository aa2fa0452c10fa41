import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { appearanceInput, changedAppearance } from '../../domain/appearance.ts';
import { type SurveyWithQuestions, surveyStatuses, visibilities } from '../../domain/survey.ts';
import { validationProblem } from '../../errors.ts';
import { definedFields } from '../../platform/defined-fields.ts';
import { languageField } from './common.ts';
import { timestampField } from './query-fields.ts';

export const title = z.string().trim().min(1).max(300);
const moment = timestampField.nullable();

/** The fields of a survey that a call may set. */
export const surveyFields = {
  title,
  description: z.string().max(5000).nullable(),
  status: z.enum(surveyStatuses),
  isAnonymous: z.boolean(),
  visibility: z.enum(visibilities),
  responseQuota: z.number().int().min(1).nullable(),
  submissionRateLimit: z
    .number()
    .int()
    .min(1)
    .max(10_000_000)
    .nullable()
    .describe('Submissions a minute for one client address; null: the general limit'),
  startsAt: moment,
  endsAt: moment,
  aiEnabled: z.boolean(),
  language: languageField,
  isShuffled: z
    .boolean()
    .describe('Whether the sections are shown in an order that follows from the id of the response'),
  retentionDays: z
    .number()
    .int()
    .min(1)
    .max(36_500)
    .nullable()
    .describe('Responses older than this are erased; null: the general setting'),
  appearance: appearanceInput.describe('Any of its fields; those left out stay as they are'),
};

export const newSurveyBody = z
  .strictObject({ ...surveyFields, title })
  .partial()
  .required({ title: true });
export const surveyChangeBody = z
  .strictObject(surveyFields)
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'name at least one field');
export type SurveyFields = z.output<typeof surveyChangeBody>;

export function newAccessToken(): string {
  return randomBytes(24).toString('base64url');
}

/** Applies the given fields, except `status`. Throws VALIDATION_ERROR for fields that do not fit each other. */
export function applyFields(
  survey: SurveyWithQuestions,
  { status: _, appearance, ...given }: SurveyFields,
  nowMs: number,
): SurveyWithQuestions {
  const next: SurveyWithQuestions = {
    ...survey,
    ...definedFields(given),
    ...(appearance && { appearance: changedAppearance(survey.appearance, appearance) }),
    updatedAt: new Date(nowMs),
  };
  if (next.startsAt && next.endsAt && next.startsAt >= next.endsAt)
    throw validationProblem([{ path: 'endsAt', message: 'must be after startsAt' }]);
  return {
    ...next,
    accessToken: next.visibility === 'PRIVATE' ? (next.accessToken ?? newAccessToken()) : next.accessToken,
  };
}
