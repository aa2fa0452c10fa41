/** Bodies to begin with, by method and path. */
export const examples: Readonly<Record<string, unknown>> = {
  'POST /auth/login': { email: 'admin@localhost', password: 'the password printed at the first start' },
  'POST /surveys': { title: 'How was your stay?', description: 'Five short questions', responseQuota: 500, endsAt: '2027-01-31T23:00:00.000Z' },
  'PUT /surveys/{id}': { title: 'How was your stay with us?', status: 'ACTIVE' },
  'POST /surveys/{id}/publish': { status: 'ACTIVE' },
  'POST /surveys/{surveyId}/questions': { type: 'MULTIPLE_CHOICE', text: 'How did you hear of us?', isRequired: true, options: [{ text: 'A friend', value: 'friend' }, { text: 'The press', value: 'press' }], settings: { allowOther: true } },
  'POST /responses/surveys/{surveyId}/submit': {
    answers: [{ questionId: '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10', numberValue: 9 }, { questionId: '0192f0c1-2b7b-7d02-8a11-5c0e9f7d2b44', textValue: 'Breakfast' }],
    startedAt: '2026-01-15T09:30:00.000Z', language: 'en',
  },
  'POST /analytics/surveys/{surveyId}/crosstab': { questionId1: '0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10', questionId2: '0192f0c1-2b7c-7f5a-9b02-6a1d4e3c8f55', isComplete: true },
};
