import type { SurveyActors } from '../../actors/survey-actors.ts';
import type { Provider } from '../../ai/providers/provider.ts';
import { ask } from '../../ai/tasks/ask.ts';
import { type GeneratedSurvey, generateSurveyTask, surveyFromDraft } from '../../ai/tasks/generate-survey.ts';
import { blankSurvey } from '../../domain/blank-survey.ts';
import type { AiJob } from '../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../stores/postgres/errors.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { JobEnd } from './job-end.ts';

export interface GenerateDeps {
  surveys: Pick<SurveyStore, 'load' | 'create'>;
  actors: Pick<SurveyActors, 'add'>;
  now(): number;
  newId(): string;
}

/**
 * Generates a survey and stores it if requested. A stored survey has the job's id, so that a job that runs again after
 * its process died finds it.
 */
export async function generate(
  deps: GenerateDeps,
  { job, provider, signal, confirmClaim }: { job: AiJob; provider: Provider } & JobEnd,
): Promise<GeneratedSurvey> {
  const { prompt = '', questionCount = '', save, language } = job.request;
  const isSaved = save === 'true';
  const model = provider.models.high;
  if (isSaved && (await retryOnOutage(() => deps.surveys.load(job.id))))
    return { surveyId: job.id, draft: null, provider: provider.name, model };
  const { value: draft } = await ask(provider, generateSurveyTask(prompt, Number(questionCount)), signal);
  if (!isSaved) return { surveyId: null, draft, provider: provider.name, model };
  await confirmClaim();
  const blank = blankSurvey(job.id, job.ownerId, deps.now());
  const survey = surveyFromDraft(draft, { ...blank, ...(language && { language }) }, deps.newId);
  // A repeat finds what a lost connection has stored.
  await retryOnOutage(async () =>
    deps.actors.add((await deps.surveys.load(job.id)) ?? (await deps.surveys.create(survey))),
  );
  return { surveyId: survey.id, draft: null, provider: provider.name, model };
}
