import { z } from 'zod';
import { maxMetadataKeyLength, maxMetadataPairs, maxMetadataTextLength } from '../../domain/metadata.ts';
import { invitationPrefix } from '../../domain/path/definition.ts';
import { parseTimestamp, respondentProblem, responseIdProblem } from '../../domain/submission/submission.ts';
import { boundedArray } from '../../platform/bounded-array.ts';
import { boundedRecord } from '../../platform/bounded-record.ts';
import { isId } from '../../platform/ids.ts';
import { sentimentSchema } from './ai.ts';
import { idSchema, languageField, languageSchema, timeSchema } from './common.ts';
import { outcomeSchema } from './outcome.ts';

/** Numbers that JSON can represent exactly: finite, and whole ones within 2^53 − 1. */
const exactNumber = z
  .number()
  .refine(
    (value) => !Number.isInteger(value) || Number.isSafeInteger(value),
    'must be a number that can be represented exactly',
  );

const valueFields = ['textValue', 'numberValue', 'optionId'] as const;
/** With `questionId`. That there is one value only stands in the description: code generators cannot express it. */
const leastFields = { minProperties: 2 };
type AnswerValues = Partial<Record<(typeof valueFields)[number], unknown>>;
const hasOneValue = (answer: AnswerValues): boolean =>
  valueFields.filter((name) => answer[name] !== undefined).length === 1;
const oneValueMessage = 'must have exactly one of textValue, numberValue and optionId';

export const openAnswerSchema = z
  .strictObject({
    responseId: idSchema,
    text: z.string(),
    submittedAt: timeSchema,
    language: languageSchema,
    outcome: outcomeSchema,
    sentiment: sentimentSchema
      .nullable()
      .describe('Of the last finished AI analysis; null if it has not seen the answer'),
    themes: z.array(z.string()).describe('Likewise, by name'),
  })
  .meta({ id: 'OpenAnswer', description: 'An answer to an open question.' });

export const answerSchema = z
  .strictObject({
    questionId: idSchema,
    textValue: z.string().optional(),
    numberValue: exactNumber.optional(),
    optionId: idSchema.optional(),
    rowId: idSchema.optional().describe('MATRIX: the row'),
    rank: z.number().int().min(1).optional().describe('RANKING: the place, 1 is best'),
  })
  .refine(hasOneValue, oneValueMessage)
  .meta({
    id: 'Answer',
    description: 'One value. Several values of a question are several answers with the same `questionId`.',
    ...leastFields,
  });

export const responseSchema = z
  .strictObject({
    id: idSchema,
    surveyId: idSchema,
    surveyVersion: z.number().int().min(1).describe('The version of the survey that was answered'),
    collectorId: idSchema
      .nullable()
      .describe('The collector by which it came; null if the service does not know it yet'),
    answers: z.array(answerSchema),
    isComplete: z.boolean().describe('False only while the outcome is PARTIAL'),
    outcome: outcomeSchema,
    submittedAt: timeSchema.describe('When it was first accepted'),
    completedAt: timeSchema.nullable(),
    durationSeconds: z
      .number()
      .min(0)
      .max(2_592_000)
      .nullable()
      .describe(
        'From `startedAt` to `completedAt`, or to `submittedAt`, which is the first save, while it is not complete, and where a full quota ended it with a part; null without a start, or if the start lies after the first save or more than 30 days before the end',
      ),
    language: languageSchema,
    respondent: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Response', description: 'A submitted set of answers.' });

export const wholeResponseSchema = responseSchema
  .extend({
    notAsked: z
      .array(idSchema)
      .optional()
      .describe(
        'With `include=notAsked`: questions of the survey, in its order, that this respondent was not asked: off the path, added later, or, of a partial response, after the last answer. Other questions without an answer were skipped',
      ),
  })
  .meta({
    id: 'WholeResponse',
    description: 'A submitted set of answers, with the questions that were not asked where they are asked for.',
  });

export const submissionReplySchema = z
  .strictObject({
    responseId: idSchema,
    isComplete: z.boolean(),
    submittedAt: timeSchema,
    resumeToken: z.string().optional().describe('Of an incomplete response: allows later submissions to continue it'),
    outcome: outcomeSchema.optional().describe('Where the survey has paths or quotas by cell'),
    quota: z
      .strictObject({ id: idSchema, name: z.string() })
      .optional()
      .describe('The quota by cell that was full, where the outcome is OVER_QUOTA'),
    ignored: z
      .array(z.strictObject({ questionId: idSchema, reason: z.literal('NOT_ON_PATH') }))
      .optional()
      .describe('Questions whose answers were not stored, because they are not on the path of the respondent'),
  })
  .refine(
    ({ isComplete, resumeToken }) => isComplete === (resumeToken === undefined),
    'an incomplete submission, and no other, has a resumeToken',
  )
  .meta({ id: 'SubmissionReply', description: 'Sent when the submission is on disk.' });

export const submittedAnswerSchema = z
  .strictObject({
    questionId: z.string(),
    textValue: z.string().optional(),
    numberValue: exactNumber.optional(),
    optionId: z.string().optional(),
    rowId: z.string().optional().describe('MATRIX: the row'),
    rank: exactNumber.optional().describe('RANKING: the place, 1 is best; without it the order of the answers counts'),
  })
  .refine(hasOneValue, oneValueMessage)
  .meta({
    id: 'SubmittedAnswer',
    description: 'Exactly one value field, which must fit the question. Several values are several answers.',
    ...leastFields,
  });

/** A text whose length counts in UTF-16 units, as the reader by hand counts it; `z.string().max` counts code points. */
const boundedText = (maxLength: number, shortest = 0) =>
  z
    .string()
    .refine(
      (text) => text.length >= shortest && text.length <= maxLength,
      `must have ${shortest} to ${maxLength} characters`,
    )
    .meta({ maxLength, ...(shortest > 0 && { minLength: shortest }) });

/** The documented body of a submission. The route reads it by hand (src/domain/submission); a test compares both. */
export const submissionBodySchema = z
  .strictObject({
    answers: boundedArray(submittedAnswerSchema, 5000),
    cleared: z
      .array(z.string())
      .max(5000)
      .optional()
      .describe('Ids of questions whose saved answers are taken back; answers in the same body count'),
    isComplete: z.boolean().default(true).describe('`false` saves progress: required answers may be missing'),
    responseId: z
      .string()
      .refine((text) => responseIdProblem(text) === undefined, 'must be a UUID of its own')
      .optional()
      .describe(
        'A UUID made by the client, in upper or lower case (not the nil or max UUID), or the id of the response that is continued; it identifies one response of one survey',
      )
      .meta({ format: 'uuid' }),
    resumeToken: boundedText(200).optional().describe('From the reply to the submission that this one continues'),
    startedAt: z
      .string()
      .refine((text) => !Number.isNaN(parseTimestamp(text)), 'must be an ISO 8601 time with its zone')
      .optional()
      .meta({ format: 'date-time' }),
    respondent: z
      .string()
      .refine((text) => respondentProblem(text) === undefined, 'must name somebody in at most 200 characters')
      .optional()
      .describe(
        'An empty text is the same as none. Blanks alone, `.` and `..` are refused. Compared by code units: another case or Unicode form is another respondent. Refused for anonymous surveys, and for responses that were begun while the survey was anonymous',
      )
      .meta({ maxLength: 200 }),
    metadata: boundedRecord(boundedText(maxMetadataKeyLength, 1), boundedText(maxMetadataTextLength), {
      maxProperties: maxMetadataPairs,
      noun: 'pairs',
    })
      .refine(
        (pairs) => !Object.keys(pairs).some((key) => key.startsWith(invitationPrefix)),
        `must have no key that begins with ${invitationPrefix}`,
      )
      .optional()
      .describe(
        'A later save adds to those of before; a response has at most 20 pairs beside those of its invitation, the newest first; once saved, keys that are whole numbers count as the oldest. Keys that begin with `invitation:` are those of the invitation, and refused',
      ),
    language: languageField.optional(),
    surveyToken: boundedText(200)
      .optional()
      .describe('The token of a PRIVATE survey; the header X-Survey-Token takes precedence'),
    surveyVersion: z
      .int()
      .min(1)
      .optional()
      .describe(
        'The `version` of the survey that the respondent saw, by which the answers are judged. Without it the present one counts, or for a response that is continued in a survey that has or had conditions, skips or a shuffled order, that of its last save',
      ),
    strict: z
      .boolean()
      .default(false)
      .describe(
        '`true` refuses answers to questions that are not on the path of the respondent, instead of ignoring them',
      ),
    collectorId: z
      .string()
      .refine((text) => isId(text.toLowerCase()), 'must be a UUID')
      .optional()
      .describe('The collector by which the response comes; without it the default collector of the survey')
      .meta({ format: 'uuid' }),
    invitation: boundedText(200)
      .optional()
      .describe(
        'The token of an invitation, which is good for one response and brings its collector with it. Beside the `resumeToken` of a response to an anonymous survey it only names its metadata, for conditions',
      ),
  })
  .meta({
    id: 'Submission',
    description: 'Answers to a survey, whole or in part.',
    examples: [
      {
        answers: [{ questionId: '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10', numberValue: 9 }],
        startedAt: '2026-01-15T09:30:00.000Z',
        language: 'en',
      },
    ],
  });
