import { z } from 'zod';
import { providerNames } from '../../ai/providers/registry.ts';
import { draftPathFields } from '../../ai/tasks/draft-paths.ts';
import { sentiments } from '../../domain/analytics/sentiment.ts';
import { newQuestionBody } from '../../domain/questions/question-definition.ts';
import { aiJobStatuses } from '../../stores/postgres/ai/jobs.ts';
import { suggestionStatuses } from '../../stores/postgres/ai/suggestions.ts';
import { countSchema, daySchema, idSchema, languageSchema, problemCodeSchema, timeSchema } from './common.ts';
import { directionSchema, surveyWithQuestionsSchema } from './surveys.ts';

export const providerSchema = z
  .enum(providerNames)
  .meta({ id: 'AiProvider', description: 'If left out of a request, the first configured one.' });

const progress = z.number().min(0).max(1).describe('0 to 1');
export const jobStatusSchema = z.enum(aiJobStatuses).meta({ id: 'AiJobStatus', description: 'The state of a job.' });

/** The 202 reply of work that goes on in the background. */
export const acceptedJobSchema = z
  .strictObject({ id: idSchema, jobId: idSchema.describe('The same as `id`'), status: jobStatusSchema, progress })
  .meta({ id: 'AcceptedAiJob', description: 'Work that goes on in the background; poll it by its `jobId`.' });

export const jobSchema = z
  .strictObject({
    id: idSchema,
    jobId: idSchema.describe('The same as `id`'),
    status: jobStatusSchema,
    progress,
    result: z.unknown().describe('The data of the 200 reply; null until the job is completed'),
    error: z.strictObject({ code: problemCodeSchema, message: z.string() }).nullable(),
  })
  .meta({ id: 'AiJob', description: 'A job of an AI provider.' });

export const draftSurveySchema = z
  .strictObject({
    title: z.string(),
    description: z.string().nullable(),
    questions: z.array(newQuestionBody).max(30),
    ...draftPathFields,
  })
  .meta({ id: 'DraftSurvey', description: 'A survey that is not stored; its questions can be sent as they are.' });

export const generatedSurveySchema = z
  .strictObject({
    survey: z.union([surveyWithQuestionsSchema, draftSurveySchema]).describe('With `save: true`, the stored DRAFT'),
    provider: providerSchema,
    model: z.string(),
  })
  .meta({ id: 'GeneratedSurvey', description: 'A generated survey.' });

export const conversationSchema = z
  .strictObject({
    conversationId: idSchema,
    message: z.string().describe('The last of the assistant'),
    draft: draftSurveySchema,
    turns: z
      .array(z.strictObject({ role: z.enum(['user', 'assistant']), text: z.string() }))
      .describe('The last messages, oldest first'),
    surveyId: idSchema.nullable().describe('The survey that the draft is saved as'),
    revision: z
      .number()
      .int()
      .min(1)
      .describe('Higher with every turn; name it with a message, and when the draft is saved'),
  })
  .meta({ id: 'AiConversation', description: 'A draft that is refined turn by turn.' });

export const sentimentSchema = z.enum(sentiments).meta({ id: 'Sentiment', description: 'The sentiment of a text.' });
const sentimentCounts = z
  .strictObject({ positive: countSchema, negative: countSchema, neutral: countSchema, mixed: countSchema })
  .meta({ id: 'SentimentCounts', description: 'Number of texts by sentiment.' });

export const sentimentAnalysisSchema = z
  .strictObject({
    sentiment: sentimentCounts,
    unjudged: countSchema
      .optional()
      .describe(
        'Answers for which the provider refused, or gave no valid sentiment; missing if there are none. They are not sent again, and no other count includes them',
      ),
    perQuestion: z.array(z.strictObject({ questionId: idSchema, sentiment: sentimentCounts })),
    perResponse: z.array(z.strictObject({ responseId: idSchema, questionId: idSchema, sentiment: sentimentSchema })),
  })
  .meta({ id: 'SentimentAnalysis', description: 'Sentiments of the open answers; `perResponse` is paged.' });

export const themesAnalysisSchema = z
  .strictObject({
    themes: z.array(
      z.strictObject({
        name: z.string(),
        count: countSchema,
        sentiment: sentimentSchema,
        responseIds: z.array(idSchema).max(20).describe('The first 20'),
      }),
    ),
  })
  .meta({
    id: 'ThemesAnalysis',
    description:
      'Themes of the open answers, the most frequent first. A theme has one name for all spellings and wordings, which later analyses keep; `count` counts responses.',
  });

export const maxThemesListed = 1000;

export const answerAnnotationsSchema = z
  .strictObject({
    sentiment: sentimentCounts.nullable().describe('Null before the first analysis of sentiments'),
    themes: z
      .array(z.strictObject({ name: z.string(), count: countSchema }))
      .max(maxThemesListed)
      .nullable()
      .describe(`The most frequent first, at most ${maxThemesListed}; null before the first analysis of themes`),
  })
  .meta({
    id: 'AnswerAnnotations',
    description:
      'What the last finished analyses found in the answers to a question, with the number of responses; the counts of the filters `sentiment:questionId:…` and `theme:questionId:…`.',
  });

const themeNameText = z.string().trim().min(1, 'must not be empty').max(100);

export const themeNamingSchema = z
  .strictObject({
    theme: themeNameText.describe('The name that the theme has, or had before'),
    name: themeNameText.nullable().describe('Null: its own name again'),
  })
  .meta({ id: 'ThemeNaming', description: 'The name that a theme is to have.' });

export const themeNamesSchema = z
  .strictObject({ names: z.array(z.strictObject({ theme: z.string(), name: z.string() })) })
  .meta({ id: 'ThemeNames', description: 'The names that people gave to the themes of a survey.' });

export const themeNamesChangedSchema = z
  .strictObject({ undo: z.array(themeNamingSchema).describe('`names` of the call that takes this one back') })
  .meta({ id: 'ThemeNamesChanged', description: 'The reply to a change of the names of themes.' });

export const summaryAnalysisSchema = z
  .strictObject({ summary: z.string(), insights: z.array(z.string()), recommendations: z.array(z.string()) })
  .meta({
    id: 'SummaryAnalysis',
    description:
      'A summary of the open answers; empty without answers, and where answers were erased since it was made.',
  });

export const analysisSchema = z.union([sentimentAnalysisSchema, themesAnalysisSchema, summaryAnalysisSchema]);

export const reportSchema = z
  .strictObject({
    reportId: idSchema,
    title: z.string(),
    sections: z.array(
      z.strictObject({ heading: z.string(), text: z.string(), questionIds: z.array(idSchema).optional() }),
    ),
    recommendations: z.array(z.string()).optional().describe('With `includeRecommendations`'),
  })
  .meta({ id: 'AiReport', description: 'A report on the responses.' });

export const reportListItemSchema = z
  .strictObject({ reportId: idSchema, title: z.string(), createdAt: timeSchema })
  .meta({ id: 'AiReportListItem', description: 'A report in a list.' });

export const suggestionSchema = z
  .strictObject({
    id: idSchema,
    aspect: z.enum(['clarity', 'bias', 'length', 'engagement']),
    problem: z.string(),
    suggestion: z.strictObject({ text: z.string(), options: z.array(z.string()).optional() }),
    status: z.enum(suggestionStatuses),
  })
  .meta({ id: 'AiSuggestion', description: 'A proposed wording, which can be accepted or rejected once.' });

export const suggestionsSchema = z
  .strictObject({ suggestions: z.array(suggestionSchema) })
  .meta({ id: 'AiSuggestions', description: 'Suggestions for a question.' });

export const translatedSchema = z
  .strictObject({
    languages: z.array(languageSchema),
    translations: z.array(
      z.strictObject({
        language: languageSchema,
        direction: directionSchema,
        translatedCount: countSchema.describe('Texts that were translated; those that were up to date are not sent'),
      }),
    ),
  })
  .meta({ id: 'TranslatedSurvey', description: 'The languages whose translations were stored.' });

export const providerSettingsSchema = z
  .strictObject({
    provider: providerSchema,
    isConfigured: z.boolean(),
    source: z.enum(['environment', 'settings']).nullable().describe('The source of the key; null without one'),
    keyLastFour: z.string().max(4).nullable(),
    endpoint: z.string().nullable(),
    deployment: z.string().nullable(),
    models: z.strictObject({ high: z.string().nullable(), low: z.string().nullable() }),
    entered: z
      .strictObject({
        endpoint: z.string().nullable(),
        deployment: z.string().nullable(),
        models: z.strictObject({ high: z.string().nullable(), low: z.string().nullable() }),
      })
      .describe('What was entered here, without what the environment and the defaults give: null where nothing was'),
  })
  .meta({ id: 'AiProviderSettings', description: 'The settings of a provider; its key is never shown.' });

export const providerTestSchema = z
  .strictObject({ ok: z.literal(true), latencyMs: z.number().min(0), model: z.string() })
  .meta({ id: 'AiProviderTest', description: 'The provider replied.' });

const usageCounters = {
  calls: countSchema,
  failedCalls: countSchema.describe(
    'Calls that failed or whose reply was refused; their tokens count as far as the provider counted them',
  ),
  inputTokens: countSchema,
  outputTokens: countSchema,
  costUsd: z.number().min(0).nullable().describe('US dollars by list prices; null if no price is known'),
  unpricedCalls: countSchema.describe(
    'Calls to models whose price is unknown, and calls whose tokens the provider did not count, as where a reply broke off; not part of `costUsd`',
  ),
};

export const usageSchema = z
  .strictObject({
    ...usageCounters,
    byModel: z
      .array(z.strictObject({ provider: providerSchema, model: z.string(), ...usageCounters }))
      .describe('The most expensive first'),
    byTask: z.array(z.strictObject({ task: z.string(), ...usageCounters })),
    byDay: z.array(z.strictObject({ day: daySchema, ...usageCounters })).describe('UTC days with calls, oldest first'),
  })
  .meta({ id: 'AiUsage', description: 'Calls to AI providers, with tokens and cost.' });
