import { exampleIds } from './example-survey.ts';

/** Example bodies by method and path: one for every route that takes a body and is not in `namedRequestExamples`. */
export const requestExamples: Readonly<Record<string, unknown>> = {
  'POST /auth/login': { email: 'admin@localhost', password: 'the password printed at the first start' },
  'POST /surveys': {
    title: 'How was your stay?',
    description: 'Six short questions',
    responseQuota: 500,
    appearance: {
      primaryColor: '#0b6e4f',
      closingText: 'Thank you. We hope to see you again.',
      allowedOrigins: ['https://www.example.org'],
    },
  },
  'PUT /surveys/{id}': { title: 'How was your stay with us?', status: 'ACTIVE' },
  'POST /surveys/{id}/publish': { status: 'ACTIVE' },
  'POST /surveys/{surveyId}/questions': {
    type: 'MULTIPLE_CHOICE',
    text: 'How did you hear of us?',
    isRequired: true,
    options: [
      { text: 'A friend', value: 'friend' },
      { text: 'The press', value: 'press' },
    ],
    settings: { allowOther: false },
  },
  'POST /responses/surveys/{surveyId}/submit': {
    answers: [
      { questionId: exampleIds.heard, optionId: exampleIds.friend },
      { questionId: exampleIds.again, numberValue: 9 },
      { questionId: exampleIds.first, optionId: exampleIds.yes },
      { questionId: exampleIds.why, textValue: 'Breakfast' },
    ],
    startedAt: '2026-01-15T09:30:00.000Z',
    language: 'en',
  },
  'POST /public/surveys/{id}/path': {
    answers: [{ questionId: exampleIds.heard, optionId: exampleIds.friend }],
    responseId: exampleIds.response,
    language: 'en',
  },
  'POST /auth/refresh': { refreshToken: 'the refresh token of the last reply' },
  'POST /auth/logout': { refreshToken: 'the refresh token of the last reply' },
  'POST /auth/password': { currentPassword: 'the one so far', newPassword: 'a good long password' },
  'POST /users': { email: 'ada@example.org', password: 'a good long password', role: 'EDITOR' },
  'PUT /users/{id}': { role: 'VIEWER' },
  'POST /api-keys': { name: 'Nightly export', role: 'VIEWER', requestsPerMinute: 600 },
  'POST /surveys/{id}/members': { email: 'ada@example.org', role: 'EDITOR' },
  'PUT /surveys/{id}/members/{userId}': { role: 'EDITOR' },
  'PUT /surveys/{id}/owner': { userId: exampleIds.owner },
  'POST /ai/conversations/{id}/save': { questions: [0, 1, 3], language: 'en' },
  'POST /surveys/import': {
    title: 'How was your stay?',
    language: 'en',
    questions: [{ type: 'NPS', text: 'How likely are you to recommend us?', isRequired: true }],
  },
  'POST /surveys/{id}/duplicate': { title: 'How was your stay? (spring)' },
  'PUT /surveys/questions/{questionId}': {
    text: 'How did you first hear of us?',
    isRequired: false,
    settings: { allowOther: true },
  },
  'POST /surveys/{surveyId}/questions/reorder': {
    questionIds: [
      exampleIds.again,
      exampleIds.heard,
      exampleIds.first,
      exampleIds.nights,
      exampleIds.rooms,
      exampleIds.why,
    ],
  },
  'POST /surveys/{surveyId}/sections': { title: 'Your stay' },
  'PUT /surveys/{surveyId}/sections/{sectionId}': { title: 'Your stay with us', isShuffled: true },
  'POST /surveys/{surveyId}/quotas': {
    name: 'Heard of us by a friend',
    limit: 100,
    where: { questionId: exampleIds.heard, operator: 'isAnyOf', optionIds: [exampleIds.friend] },
  },
  'PUT /surveys/{surveyId}/quotas/{quotaId}': { limit: 150 },
  'POST /surveys/{surveyId}/quotas/grid': { questionIds: [exampleIds.heard, exampleIds.first], limit: 50 },
  'POST /surveys/{surveyId}/sections/reorder': { sectionIds: [exampleIds.after, exampleIds.stay] },
  'POST /surveys/{id}/collectors': {
    name: 'Card in the room',
    responseQuota: 200,
    metadata: { place: 'rooms' },
  },
  'PUT /collectors/{collectorId}': { isActive: false },
  'POST /collectors/{collectorId}/invitations/revoke': { uploadedAt: '2026-01-15T09:30:00.125Z' },
  'PUT /surveys/{id}/translations/{language}': {
    title: 'Wie war Ihr Aufenthalt?',
    questions: [
      {
        id: exampleIds.heard,
        text: 'Wie haben Sie von uns erfahren?',
        options: [{ id: exampleIds.friend, text: 'Von Freunden' }],
      },
    ],
  },
  'POST /exports/surveys/{surveyId}': {
    format: 'CSV',
    startDate: '2026-01-01',
    endDate: '2026-01-31',
    isComplete: true,
  },
  'POST /webhooks': {
    url: 'https://example.org/hooks/surveys',
    events: ['response.completed', 'quota.reached'],
    surveyId: null,
    description: 'Tells the front desk',
  },
  'PUT /webhooks/{id}': { events: ['response.completed'], isActive: true },
  'POST /webhooks/{id}/test': { event: 'response.completed' },
  'POST /webhooks/{id}/replay': { since: '2026-01-15T00:00:00Z', until: '2026-01-16T00:00:00Z', status: 'FAILED' },
  'POST /ai/generate-survey': {
    prompt: 'How satisfied guests of a small hotel are, from booking to departure',
    questionCount: 8,
    save: true,
  },
  'POST /ai/conversations': { prompt: 'A survey for guests of a small hotel', questionCount: 8 },
  'POST /ai/conversations/{id}/messages': { message: 'Ask about breakfast too, and leave out the price' },
  'POST /ai/surveys/{id}/analyze': { analysisType: 'themes' },
  'PUT /ai/surveys/{id}/theme-names': {
    names: [
      { theme: 'Queue', name: 'Waiting time' },
      { theme: 'Slow service', name: 'Waiting time' },
    ],
  },
  'POST /ai/surveys/{id}/report': { includeRecommendations: true },
  'POST /ai/surveys/{id}/translate': { languages: ['de', 'fr'] },
  'POST /ai/questions/{questionId}/optimize': { provider: 'openai' },
};

/**
 * Example bodies of routes with several uses, each with a summary. Those of AI settings are named after their
 * providers.
 */
export const namedRequestExamples: Readonly<
  Record<string, Readonly<Record<string, { summary: string; value: unknown }>>>
> = {
  'POST /analytics/surveys/{surveyId}/crosstab': {
    two: {
      summary: 'Two questions, complete responses only',
      value: { questionId1: exampleIds.heard, questionId2: exampleIds.first, isComplete: true },
    },
    weighted: {
      summary: 'Weighted by a NUMBER question, compared at 99 % with Bonferroni’s correction',
      value: {
        questionId1: exampleIds.heard,
        questionId2: exampleIds.first,
        weightQuestionId: exampleIds.nights,
        significance: 0.99,
        correction: 'bonferroni',
      },
    },
    banner: {
      summary:
        'A banner of three: the second question, another, and a row of a MATRIX; weighted by a key of the metadata',
      value: {
        questionId1: exampleIds.heard,
        questionId2: exampleIds.first,
        banner: [exampleIds.again, { questionId: exampleIds.rooms, rowId: 'bathroom' }],
        weightMetadataKey: 'weight',
        filters: [`${exampleIds.first}:yes`],
        startDate: '2026-01-01',
        endDate: '2026-01-31',
      },
    },
    findings: {
      summary: 'What an analysis by AI found, in the rows',
      value: { questionId1: 'sentiment', questionId2: exampleIds.heard },
    },
  },
  'PUT /ai/settings/{provider}': {
    openai: {
      summary: 'For `openai`, with models of its own choice',
      value: {
        apiKey: 'sk-the-key-of-your-project',
        models: { high: 'name-of-a-large-model', low: 'name-of-a-small-model' },
      },
    },
    anthropic: { summary: 'For `anthropic`', value: { apiKey: 'sk-ant-the-key-of-your-workspace' } },
    gemini: { summary: 'For `gemini`', value: { apiKey: 'the-key-of-your-project' } },
    azure: {
      summary: 'For `azure`, which needs its resource and deployment',
      value: {
        apiKey: 'theKeyOfYourOwnResource',
        endpoint: 'https://your-resource.openai.azure.com',
        deployment: 'name-of-your-deployment',
      },
    },
  },
};
