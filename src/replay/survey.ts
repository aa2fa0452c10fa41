import type { Api } from './api.ts';
import { questionBody, textsOf, withNames } from './question-body.ts';
import type { DetectedQuestion } from './recognise.ts';
import { analyticsSchema, questionSchema, type ServiceQuestion, surveySchema } from './replies.ts';
import type { ImportedQuestion } from './types/adapter.ts';

export interface ImportedSurvey {
  id: string;
  /** Responses that analytics has counted before this run. */
  responsesBefore: number;
  questions: readonly ImportedQuestion[];
}

interface SurveyPlan {
  title: string;
  description: string;
  questions: readonly DetectedQuestion[];
}

/** The maximum that the interface allows, because all rows come from one address. */
const submissionsAMinute = 10_000_000;

/** An hour less than the service keeps idempotency keys, for the time that the rows themselves take. */
const maxAgeMs = 47 * 3_600_000;

/** Creates a survey and publishes it. */
export async function createSurvey(api: Api, { title, description, questions }: SurveyPlan): Promise<ImportedSurvey> {
  const { data } = await api.call(surveySchema, ['POST', '/surveys'], {
    body: { title, description, submissionRateLimit: submissionsAMinute },
  });
  return finishSurvey(api, { ...data, responsesBefore: 0 }, questions);
}

/**
 * Continues a survey made from the same file and adds missing questions. Throws an Error if its questions differ, or if
 * the service may no longer know which of its rows it has.
 */
export async function continueSurvey(
  api: Api,
  surveyId: string,
  questions: readonly DetectedQuestion[],
): Promise<ImportedSurvey> {
  const { data } = await api.call(surveySchema, ['GET', `/surveys/${encodeURIComponent(surveyId)}`]);
  if (data.questions.length > questions.length)
    throw new Error(`survey ${surveyId} has ${data.questions.length} questions, the file ${questions.length}`);
  const { totalResponses } = (await api.call(analyticsSchema, ['GET', `/analytics/surveys/${data.id}`])).data;
  if (totalResponses > 0 && Date.now() - Date.parse(data.createdAt) > maxAgeMs)
    throw new Error(
      `survey ${surveyId} has ${totalResponses} responses and was made more than 47 hours ago: the service knows for 48 hours which rows it has accepted, so rows may be counted twice; delete the survey if its replay did not end, and replay it without --survey`,
    );
  return finishSurvey(api, { ...data, responsesBefore: totalResponses }, questions);
}

async function finishSurvey(
  api: Api,
  survey: { id: string; status: string; responsesBefore: number; questions: readonly ServiceQuestion[] },
  questions: readonly DetectedQuestion[],
): Promise<ImportedSurvey> {
  const made: ImportedQuestion[] = [];
  for (const [place, found] of questions.entries()) {
    const known = survey.questions[place];
    if (known) assertSame(found, known, place);
    made.push(withNames(found, known ?? (await addQuestion(api, survey.id, found))));
  }
  if (survey.status !== 'ACTIVE') await api.call(surveySchema, ['POST', `/surveys/${survey.id}/publish`]);
  return { id: survey.id, responsesBefore: survey.responsesBefore, questions: made };
}

async function addQuestion(api: Api, surveyId: string, found: DetectedQuestion): Promise<ServiceQuestion> {
  const body = questionBody(found);
  return (await api.call(questionSchema, ['POST', `/surveys/${surveyId}/questions`], { body })).data;
}

function assertSame(found: DetectedQuestion, known: ServiceQuestion, place: number): void {
  const { options, rows } = textsOf(found);
  const has = (items: readonly { text: string }[], texts: readonly string[]) =>
    texts.every((text) => items.some((item) => item.text === text));
  const isSame =
    known.type === found.type &&
    known.text === found.text &&
    has(known.options, options) &&
    has(known.settings.rows, rows);
  if (!isSame)
    throw new Error(
      `question ${place + 1} of the survey (“${known.text}”, ${known.type}) is not the file's (“${found.text}”, ${found.type})`,
    );
}
