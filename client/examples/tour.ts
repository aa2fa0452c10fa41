import { createSurveyClient, dataOf } from '../src/index.ts';

/** The calls of the README's tour: asks two questions, takes two responses and counts them. */
export async function tour(origin: string, email: string, password: string) {
  const anyone = createSurveyClient({ origin });
  const { accessToken } = await dataOf(anyone.POST('/auth/login', { body: { email, password } }));
  const author = createSurveyClient({ origin, token: accessToken });

  const { id } = await dataOf(author.POST('/surveys', { body: { title: 'Lunch' } }));
  const dish = await dataOf(
    author.POST('/surveys/{surveyId}/questions', {
      params: { path: { surveyId: id } },
      body: {
        type: 'MULTIPLE_CHOICE',
        text: 'Which dish?',
        isRequired: true,
        options: [{ text: 'Soup' }, { text: 'Pasta' }],
      },
    }),
  );
  const nps = await dataOf(
    author.POST('/surveys/{surveyId}/questions', {
      params: { path: { surveyId: id } },
      body: { type: 'NPS', text: 'Would you recommend us?' },
    }),
  );
  const { status } = await dataOf(author.POST('/surveys/{id}/publish', { params: { path: { id } } }));

  // Respondents need no token; a UUID of the client's own as key makes a repeat harmless.
  const [soup, pasta] = dish.options;
  if (soup === undefined || pasta === undefined) throw new Error('the question has two options');
  for (const [option, score] of [
    [soup, 10],
    [pasta, 6],
  ] as const)
    await dataOf(
      anyone.POST('/responses/surveys/{surveyId}/submit', {
        params: { path: { surveyId: id }, header: { 'Idempotency-Key': crypto.randomUUID() } },
        body: {
          answers: [
            { questionId: dish.id, optionId: option.id },
            { questionId: nps.id, numberValue: score },
          ],
        },
      }),
    );

  const readTotals = () => dataOf(author.GET('/analytics/surveys/{surveyId}', { params: { path: { surveyId: id } } }));
  let totals = await readTotals();
  // Within a second.
  for (let tries = 0; totals.totalResponses < 2 && tries < 50; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    totals = await readTotals();
  }
  const crosstab = await dataOf(
    author.POST('/analytics/surveys/{surveyId}/crosstab', {
      params: { path: { surveyId: id } },
      body: { questionId1: dish.id, questionId2: nps.id },
    }),
  );
  return {
    status,
    totalResponses: totals.totalResponses,
    rows: crosstab.rows.map(({ text, total }): [text: string, total: number] => [text, total]),
  };
}
