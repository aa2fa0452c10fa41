import { withNames } from '../../../src/replay/question-body.ts';
import { answersOf, metadataOf } from '../../../src/replay/row-answers.ts';
import { newUuid } from '../../shared/uuid.ts';
import { followWork, type LongWork } from '../app/tray.tsx';
import { api, dataOf, SurveyApiError } from './api.ts';
import { problemText } from './problems.ts';
import { definitionOf, type Item, type Question } from './questions.ts';
import type { DetectedQuestion, RecognisedSource } from './responses-file.ts';
import { changeSurvey, publishSurvey, type SurveyWithQuestions } from './surveys.ts';

/** Calls at a time. */
const concurrency = 6;
/** The highest that the API allows: all rows come from one address. */
const submissionsAMinute = 10_000_000;

/**
 * Submits every row of a file to the survey that was made of its questions, as respondents do, and shows it in the tray.
 * The survey is open meanwhile, and paused afterwards. Rows that the service refuses are counted, not sent again.
 */
export async function submitResponses(
  survey: SurveyWithQuestions,
  source: RecognisedSource,
  found: readonly DetectedQuestion[],
): Promise<void> {
  const { rows } = source.table;
  const asked = definitionOf(survey).questions;
  const questions = found.flatMap((one, place) => {
    const known = asked[place];
    return known ? [withNames(one, namesOf(known))] : [];
  });
  let [next, done, refused] = [0, 0, 0];
  let problem: string | undefined;
  const loop = async () => {
    while (next < rows.length && problem === undefined) {
      const row = rows[next++] ?? [];
      const body = { answers: answersOf(questions, row), ...metadataOf(source, row) };
      try {
        await submitOnce(survey.id, body);
      } catch (error) {
        if (error instanceof SurveyApiError && error.status === 400) refused += 1;
        else problem = problemText(error).text;
      }
      done += 1;
    }
  };
  const run = async () => {
    try {
      await changeSurvey(survey.id, { submissionRateLimit: submissionsAMinute });
      await publishSurvey(survey.id);
      await Promise.all(Array.from({ length: concurrency }, loop));
      await changeSurvey(survey.id, { submissionRateLimit: null, status: 'PAUSED' });
    } catch (error) {
      problem ??= problemText(error).text;
    }
  };
  let hasEnded = false;
  // Leaving the page would leave the survey open, with a part of the responses.
  const ask = (event: BeforeUnloadEvent) => event.preventDefault();
  window.addEventListener('beforeunload', ask);
  void run().then(() => {
    hasEnded = true;
    window.removeEventListener('beforeunload', ask);
  });
  const work: LongWork = {
    id: `responses/${survey.id}`,
    title: `Responses of ${survey.title}`,
    state: 'running',
    href: `/surveys/${survey.id}/results`,
  };
  await followWork(work, async () => {
    if (!hasEnded) return { ...work, progress: rows.length === 0 ? 1 : done / rows.length };
    problem ??= refused > 0 ? `${refused} of ${rows.length} rows were refused.` : undefined;
    return problem === undefined ? { ...work, state: 'done' } : { ...work, state: 'failed', problem };
  });
}

const namesOf = ({ id, type, text, options, settings }: Question) => ({
  id,
  type,
  text,
  options: options.map(withValue),
  settings: { rows: (settings.rows ?? []).map(withValue) },
});
const withValue = (item: Item) => ({ ...item, value: item.value ?? item.text });

const mostTries = 6;

/** Submits a response, again if the service is away for a moment; it is counted once all the same. */
async function submitOnce(surveyId: string, body: object): Promise<void> {
  const key = newUuid();
  for (let tries = 1; ; tries += 1)
    try {
      await dataOf(
        api.POST('/responses/surveys/{surveyId}/submit', {
          params: { path: { surveyId }, header: { 'Idempotency-Key': key } },
          body: body as never,
        }),
      );
      return;
    } catch (error) {
      if (!problemText(error).isTemporary || tries === mostTries) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tries));
    }
}
