import { z } from 'zod';
import { surveyRights } from '../../auth/roles.ts';
import { pageModes } from '../../domain/appearance.ts';
import { surveyStatuses, visibilities } from '../../domain/survey.ts';
import { countSchema, idSchema, languageSchema, timeSchema } from './common.ts';
import {
  pathQuestionSchema,
  publicQuestionSchema,
  publicSectionSchema,
  questionSchema,
  sectionSchema,
} from './questions.ts';

export const surveyStatusSchema = z.enum(surveyStatuses).meta({
  id: 'SurveyStatus',
  description:
    'Every status may be set from every other, unless the end has passed or the quota is full. Only an ACTIVE survey takes responses.',
});
export const visibilitySchema = z
  .enum(visibilities)
  .meta({ id: 'Visibility', description: 'A PRIVATE survey takes submissions only with its token.' });

const logoSchema = z
  .strictObject({
    url: z.string().describe('Public address of the picture, below that of the service; it never changes its content'),
    width: z.number().int().min(1).describe('Pixels'),
    height: z.number().int().min(1).describe('Pixels'),
  })
  .meta({ id: 'Logo', description: 'The picture above a survey.' });

const shownAppearance = {
  pageMode: z.enum(pageModes).describe('What a page shows at once: a section or a question'),
  primaryColor: z.string().nullable().describe('`#rrggbb`, of buttons, marks and focus; null: the page’s own'),
  backgroundColor: z.string().nullable().describe('`#rrggbb`, behind the questions; null: the page’s own'),
  closingText: z.string().nullable().describe('Shown when a response is complete; holds its placeholders'),
  redirectUrl: z.string().nullable().describe('Where a respondent is sent at the end of a complete response'),
  logo: logoSchema.nullable(),
};

export const appearanceSchema = z
  .strictObject({
    ...shownAppearance,
    allowedOrigins: z.array(z.string()).describe('Origins whose pages may embed the survey; `*`: any'),
  })
  .meta({ id: 'Appearance', description: 'How the respondent’s page shows a survey.' });

export const publicAppearanceSchema = z
  .strictObject(shownAppearance)
  .meta({ id: 'PublicAppearance', description: 'How the respondent’s page shows a survey.' });

const fields = {
  id: idSchema,
  title: z.string(),
  description: z.string().nullable(),
  status: surveyStatusSchema,
  isAnonymous: z.boolean().describe('No address, user agent or respondent is stored anywhere'),
  visibility: visibilitySchema,
  responseQuota: z
    .number()
    .int()
    .min(1)
    .nullable()
    .describe('The survey closes when it has this many complete responses'),
  submissionRateLimit: z
    .number()
    .int()
    .min(1)
    .nullable()
    .describe('Submissions a minute for one client address; null: the general limit'),
  startsAt: timeSchema.nullable(),
  endsAt: timeSchema.nullable(),
  aiEnabled: z.boolean(),
  language: languageSchema,
  retentionDays: z
    .number()
    .int()
    .min(1)
    .nullable()
    .describe(
      'Responses older than this are erased, and export files that may show them expire within a day; null: the general setting',
    ),
  isShuffled: z
    .boolean()
    .describe('Whether the sections are shown in an order that follows from the id of the response'),
  appearance: appearanceSchema,
  createdAt: timeSchema,
  updatedAt: timeSchema,
  publishedAt: timeSchema
    .nullable()
    .describe(
      'When it was last published, or opened by an update if it was created PAUSED or CLOSED (which sends no survey.published)',
    ),
  closedAt: timeSchema.nullable(),
  responseCount: countSchema.describe('Complete and partial responses'),
  ownerId: idSchema,
  version: z
    .number()
    .int()
    .min(1)
    .describe('Increases with every change of a wording, question, option, section, condition or skip'),
};

const accessToken = z
  .string()
  .optional()
  .describe('Of a PRIVATE survey, for X-Survey-Token; shown to callers who may edit it');

export const surveySchema = z
  .strictObject({ ...fields, accessToken })
  .meta({ id: 'Survey', description: 'A survey without its questions.' });

export const surveyListItemSchema = z
  .strictObject(fields)
  .meta({ id: 'SurveyListItem', description: 'A survey as lists show it.' });

export const surveyWithQuestionsSchema = z
  .strictObject({
    ...fields,
    accessToken,
    right: z
      .enum(surveyRights)
      .describe('What the caller may do: read; edit it too; own, which is sharing and deleting too'),
    sections: z.array(sectionSchema).describe('In order; at most 200'),
    questions: z.array(questionSchema).describe('At most 500, besides deleted ones'),
  })
  .meta({ id: 'SurveyWithQuestions', description: 'A survey with its questions in order.' });

export const directionSchema = z.enum(['ltr', 'rtl']).meta({
  id: 'Direction',
  description:
    'The writing direction of the language, by its script: `rtl` for ar and he, and for others such as fa and ur.',
});

export const publicSurveySchema = z
  .strictObject({
    id: idSchema,
    title: z.string(),
    description: z.string().nullable(),
    language: languageSchema.describe('The language of these texts'),
    direction: directionSchema,
    languages: z.array(languageSchema).describe('All languages of the survey'),
    isAnonymous: z.boolean(),
    version: z.number().int().min(1).describe('The version of these texts, sections and questions'),
    isShuffled: z
      .boolean()
      .describe('Whether the sections are shown in an order that follows from the id of the response'),
    appearance: publicAppearanceSchema,
    sections: z.array(publicSectionSchema).describe('In their designed order'),
    questions: z.array(publicQuestionSchema).describe('In their designed order'),
  })
  .meta({ id: 'PublicSurvey', description: 'An open survey as a respondent sees it.' });

export const respondentPathSchema = z
  .strictObject({
    id: idSchema,
    version: z.number().int().min(1).describe('The version of the survey: name it as `surveyVersion` when you submit'),
    language: languageSchema.describe('The language of these texts'),
    direction: directionSchema,
    title: z.string(),
    description: z.string().nullable(),
    closingText: z.string().nullable().describe('For the end of the path'),
    sections: z
      .array(
        z.strictObject({
          id: idSchema.nullable().describe('Null: before the first section'),
          title: z.string().describe('May be empty'),
          description: z.string().nullable(),
          questions: z.array(pathQuestionSchema),
        }),
      )
      .describe('Sections with a question on the path, in the order shown'),
    next: idSchema
      .nullable()
      .describe(
        'The question after the last answered one; if there is none, the first required one without an answer. Null unless OPEN',
      ),
    outcome: z
      .enum(['OPEN', 'COMPLETE', 'SCREENED_OUT'])
      .describe('OPEN: a required question lacks an answer, or questions follow the last answered one'),
    progress: z.number().min(0).max(1).describe('Answered questions ÷ questions on the path; 1 unless OPEN'),
    fullQuotas: z
      .array(
        z.strictObject({ id: idSchema, name: z.string(), whenFull: z.enum(['OVER_QUOTA', 'CLOSE', 'COUNT_ONLY']) }),
      )
      .describe('Quotas by cell that the answers so far count for and that are full; none where they screen out'),
  })
  .meta({ id: 'RespondentPath', description: 'What a respondent is asked, by the answers so far.' });

const translatedText = z.strictObject({ id: idSchema, text: z.string() });

export const translationSchema = z
  .strictObject({
    language: languageSchema,
    direction: directionSchema,
    title: z.string().optional(),
    description: z.string().optional(),
    closingText: z.string().optional(),
    sections: z.array(
      z.strictObject({ id: idSchema, title: z.string().optional(), description: z.string().optional() }),
    ),
    questions: z.array(
      z.strictObject({
        id: idSchema,
        text: z.string().optional(),
        description: z.string().optional(),
        options: z.array(translatedText).optional(),
        rows: z.array(translatedText).optional(),
      }),
    ),
    stale: z.array(z.string()).describe('Paths of texts whose original has changed since'),
    missing: z.array(z.string()).describe('Paths of texts that are shown in the survey’s own language'),
    updatedAt: timeSchema,
  })
  .meta({
    id: 'Translation',
    description: 'The texts of a survey in another language; missing ones are shown in the survey’s own language.',
  });

export const translationListItemSchema = z
  .strictObject({
    language: languageSchema,
    direction: directionSchema,
    isOwn: z.boolean().describe('Whether it is the survey’s own language'),
  })
  .meta({ id: 'TranslationListItem', description: 'A language of a survey.' });
