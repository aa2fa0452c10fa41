import { z } from 'zod';
import { auditActionSchema, auditObjectKindSchema } from './accounts.ts';
import { idSchema, languageSchema, timeSchema } from './common.ts';
import { questionSchema, sectionSchema } from './questions.ts';

const version = z.number().int().min(1);

export const surveyVersionListItemSchema = z
  .strictObject({
    version,
    createdAt: timeSchema,
    changes: z
      .array(
        z.strictObject({
          at: timeSchema,
          action: auditActionSchema,
          objectKind: auditObjectKindSchema,
          objectId: z.string(),
          actorId: idSchema.nullable().describe('The user; null: the service itself'),
          actorEmail: z.string().nullable().describe('Null: the user was deleted since'),
          fields: z.array(z.string()).describe('The fields that the call gave'),
        }),
      )
      .describe(
        'The calls that made the version; empty for versions from before this was recorded, for those that the service made by itself, and for the first of a survey that AI wrote and stored after its call had got a 202',
      ),
  })
  .meta({ id: 'SurveyVersionListItem', description: 'A version of a survey as lists show it.' });

export const surveyVersionSchema = z
  .strictObject({
    version,
    createdAt: timeSchema,
    replacedAt: timeSchema.nullable().describe('When the next version replaced it; null: it is the current one'),
    title: z.string(),
    description: z.string().nullable(),
    language: languageSchema,
    isShuffled: z.boolean(),
    sections: z.array(sectionSchema),
    questions: z.array(questionSchema),
  })
  .meta({ id: 'SurveyVersion', description: 'What a version of a survey asks.' });
