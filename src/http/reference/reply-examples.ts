import { exampleIds, exampleQuestions, exampleSurvey } from './example-survey.ts';

const draft = { ...exampleSurvey, description: null, status: 'DRAFT', responseQuota: null, endsAt: null, updatedAt: exampleSurvey.createdAt, publishedAt: null, responseCount: 0, version: 1 };
const surveyWithQuestions = { ...exampleSurvey, questions: Object.values(exampleQuestions) };
const cell = (count: number, rowPercent: number, columnPercent: number) => ({ count, weightedCount: count, rowPercent, columnPercent, totalPercent: count * 25, significantOver: [] });
const head = (value: string, text: string, total: number) => ({ value, text, total, weightedTotal: total, effectiveBase: total });
const exportExample = { exportId: exampleIds.file, surveyId: exampleIds.survey, format: 'CSV', createdAt: '2026-02-01T06:00:00.000Z' };
const answers = [{ questionId: exampleIds.heard, optionId: exampleIds.friend }, { questionId: exampleIds.again, numberValue: 9 }, { questionId: exampleIds.first, optionId: exampleIds.yes }, { questionId: exampleIds.why, textValue: 'Breakfast' }];

/** `data` of the success that a route declares, by method and path. */
export const replyExamples: Readonly<Record<string, unknown>> = {
  'POST /surveys': { ...draft, questions: [] },
  'GET /surveys/{id}': surveyWithQuestions,
  'POST /surveys/{id}/publish': { ...surveyWithQuestions, responseCount: 0 },
  'POST /surveys/{surveyId}/questions': exampleQuestions.heard,
  'POST /responses/surveys/{surveyId}/submit': { responseId: exampleIds.response, isComplete: true, submittedAt: '2026-01-15T09:31:30.000Z' },
  'GET /responses/{responseId}': {
    id: exampleIds.response, surveyId: exampleIds.survey, surveyVersion: exampleSurvey.version, answers, isComplete: true, submittedAt: '2026-01-15T09:31:30.000Z', completedAt: '2026-01-15T09:31:30.000Z',
    durationSeconds: 90, language: 'en', respondent: null, metadata: {},
  },
  'GET /analytics/surveys/{surveyId}/questions/{questionId}': {
    questionId: exampleIds.again, type: 'NPS', responseCount: 4, skippedCount: 0, averageValue: 7.25, medianValue: 8, standardDeviation: 3.095695936834452, minValue: 3, maxValue: 10,
    distribution: { 0: 0, 1: 0, 2: 0, 3: 1, 4: 0, 5: 0, 6: 0, 7: 1, 8: 0, 9: 1, 10: 1 },
    nps: { promoters: 2, passives: 1, detractors: 1, score: 25 }, topBox: { count: 1, percent: 25 }, bottomBox: { count: 0, percent: 0 },
  },
  'POST /analytics/surveys/{surveyId}/crosstab': {
    rows: [head('friend', 'A friend', 2), head('press', 'The press', 2)], columns: [head('yes', 'Yes', 1), head('no', 'No', 3)],
    cells: [[cell(1, 50, 100), cell(1, 50, 100 / 3)], [cell(0, 0, 0), cell(2, 100, 200 / 3)]],
    total: 4, weightedTotal: 4, effectiveBase: 4, chiSquare: { statistic: 4 / 3, degreesOfFreedom: 1, pValue: 0.24821307898992373 }, cramersV: 0.5773502691896257,
  },
  'POST /exports/surveys/{surveyId}': { ...exportExample, status: 'PENDING', progress: 0 },
  'GET /exports/{exportId}': {
    ...exportExample, status: 'COMPLETED', progress: 1, rowCount: 4, fileSize: 1240, sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', downloadUrl: `/api/v1/exports/${exampleIds.file}/download`, error: null,
    completedAt: '2026-02-01T06:00:02.000Z', expiresAt: '2026-02-08T06:00:02.000Z',
  },
  'POST /webhooks': {
    id: exampleIds.webhook, url: 'https://example.org/hooks/surveys', events: ['response.completed', 'quota.reached'], surveyId: null, description: 'Tells the front desk', isActive: true, batch: false, maxPerSecond: null,
    maxAgeSeconds: 432_000, maxWaiting: 100_000, ownerId: exampleIds.owner, disabledAt: null, disabledReason: null, createdAt: exampleSurvey.createdAt, updatedAt: exampleSurvey.createdAt, secret: 'whsec_shown-here-and-never-again',
  },
  'POST /live/tickets': { ticket: 'good-for-one-connection', expiresInSeconds: 60 },
};
