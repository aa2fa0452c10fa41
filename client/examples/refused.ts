import { createSurveyClient } from '../src/index.ts';

/** Calls that the types refuse: each comment fails the compilation if the next line is accepted. */
export async function refused(origin: string): Promise<void> {
  const client = createSurveyClient({ origin });
  // @ts-expect-error a path that does not exist
  await client.GET('/survey');
  // @ts-expect-error a path that is not under /api/v1
  await client.GET('/health/ready');
  // @ts-expect-error the same
  await client.GET('/metrics');
  // @ts-expect-error a title is a text
  await client.POST('/surveys', { body: { title: 5 } });
  // @ts-expect-error a title is needed
  await client.POST('/surveys', { body: {} });
  const path = { surveyId: 'x' };
  // @ts-expect-error no such type of question
  await client.POST('/surveys/{surveyId}/questions', { params: { path }, body: { type: 'GUESS', text: 'x' } });
  const { data } = await client.GET('/analytics/surveys/{surveyId}', { params: { path } });
  // @ts-expect-error no such figure
  data?.data.totalRespondents;
  const { error } = await client.POST('/responses/surveys/{surveyId}/submit', {
    params: { path },
    body: { answers: [] },
  });
  // @ts-expect-error no such code
  if (error?.code === 'TEAPOT') return;
}
