import type { Api } from './api.ts';
import type { DetectedQuestion } from './recognise.ts';
import { questionSchema, type ServiceQuestion, surveySchema } from './replies.ts';
import type { ImportedQuestion, Named } from './types/adapter.ts';
import { typeAdapters } from './types/adapters.ts';

export interface ImportedSurvey {
  id: string;
  questions: readonly ImportedQuestion[];
}

interface SurveyPlan {
  title: string;
  description: string;
  questions: readonly DetectedQuestion[];
}

/** The maximum that the interface allows, because all rows come from one address. */
const submissionsAMinute = 10_000_000;

/** Creates a survey and publishes it. */
export async function createSurvey(api: Api, { title, description, questions }: SurveyPlan): Promise<ImportedSurvey> {
  const { data } = await api.call(surveySchema, ['POST', '/surveys'], {
    body: { title, description, submissionRateLimit: submissionsAMinute },
  });
  return finishSurvey(api, data, questions);
}

/** Continues a survey made from the same file and adds missing questions. Throws an Error if its questions differ. */
export async function continueSurvey(
  api: Api,
  surveyId: string,
  questions: readonly DetectedQuestion[],
): Promise<ImportedSurvey> {
  const { data } = await api.call(surveySchema, ['GET', `/surveys/${encodeURIComponent(surveyId)}`]);
  if (data.questions.length > questions.length)
    throw new Error(`survey ${surveyId} has ${data.questions.length} questions, the file ${questions.length}`);
  return finishSurvey(api, data, questions);
}

async function finishSurvey(
  api: Api,
  survey: { id: string; status: string; questions: readonly ServiceQuestion[] },
  questions: readonly DetectedQuestion[],
): Promise<ImportedSurvey> {
  const made: ImportedQuestion[] = [];
  for (const [place, found] of questions.entries()) {
    const known = survey.questions[place];
    if (known) assertSame(found, known, place);
    made.push(withNames(found, known ?? (await addQuestion(api, survey.id, found))));
  }
  if (survey.status !== 'ACTIVE') await api.call(surveySchema, ['POST', `/surveys/${survey.id}/publish`]);
  return { id: survey.id, questions: made };
}

async function addQuestion(api: Api, surveyId: string, found: DetectedQuestion): Promise<ServiceQuestion> {
  const { options, rows } = textsOf(found);
  const settings = { ...(rows.length > 0 && { rows: rows.map(withText) }), ...found.scale };
  const body = {
    type: found.type,
    text: found.text,
    ...(options.length > 0 && { options: options.map(withText) }),
    ...(Object.keys(settings).length > 0 && { settings }),
  };
  return (await api.call(questionSchema, ['POST', `/surveys/${surveyId}/questions`], { body })).data;
}

const withText = (text: string) => ({ text });

/**
 * Texts of options and rows: the columns of CHECKBOXES (unless split) and RANKING are options, those of MATRIX are
 * rows.
 */
function textsOf({ type, items, options, split }: DetectedQuestion): {
  options: readonly string[];
  rows: readonly string[];
} {
  const { itemsAre } = typeAdapters[type];
  const texts = items.map(({ text }) => text);
  return {
    options: itemsAre === 'options' && split === undefined ? texts : options,
    rows: itemsAre === 'rows' ? texts : [],
  };
}

function withNames(found: DetectedQuestion, { id, options, settings }: ServiceQuestion): ImportedQuestion {
  return { found, id, options: byText(options), rows: byText(settings.rows) };
}

const byText = (items: readonly (Named & { text: string })[]): Map<string, Named> =>
  new Map(items.map(({ text, id, value }) => [text, { id, value }]));

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
