import { withNames } from '../../../src/replay/question-body.ts';
import { answersOf, metadataOf } from '../../../src/replay/row-answers.ts';
import { newUuid } from '../../shared/uuid.ts';
import { noteUser, otherUserProblem } from '../app/session.ts';
import { followWork, type LongWork, localPollMs } from '../app/tray.tsx';
import { addKeeper } from '../app/unsaved.ts';
import { api, dataOf, SurveyApiError } from './api.ts';
import { problemText, UserError } from './problems.ts';
import { definitionOf, type Item, type Question } from './questions.ts';
import type { DetectedQuestion, RecognisedSource } from './responses-file.ts';
import { changeSurvey, publishSurvey, type SurveyWithQuestions } from './surveys.ts';

/** Calls at a time. */
const concurrency = 6;
/** The highest that the API allows: all rows come from one address. */
const submissionsAMinute = 10_000_000;

const stillOpen = 'The survey is still open.';
/** Imports that are under way; each ends the submission of its rows, and throws unless its survey is paused then. */
const running = new Set<() => Promise<void>>();
/** Somebody who signs out does not wait longer for the pause of a survey. */
const longestEndMs = 8000;

addKeeper({
  async end() {
    await Promise.all([...running].map((end) => end()));
  },
  isUnsaved: () => running.size > 0,
  loss: 'The rows of a file are still being submitted. The rest of them is not, and the survey is paused.',
});

/**
 * Submits every row of a file to the survey that was made of its questions, as respondents do, and shows it in the tray.
 * The survey is open meanwhile, and paused afterwards, whatever it takes: the tray says that it is still open until then.
 * Where somebody else signs in, nothing more is sent, and the survey stays open. Rows that the service refuses are
 * counted, not sent again.
 */
export async function submitResponses(
  survey: SurveyWithQuestions,
  source: RecognisedSource,
  found: readonly DetectedQuestion[],
): Promise<void> {
  const isSameUser = noteUser();
  const { rows } = source.table;
  const asked = definitionOf(survey).questions;
  const questions = found.flatMap((one, place) => {
    const known = asked[place];
    return known ? [withNames(one, namesOf(known))] : [];
  });
  let [next, done, refused] = [0, 0, 0];
  let problem: string | undefined;
  let isStopped = false;
  const loop = async () => {
    while (next < rows.length && problem === undefined && !isStopped && isSameUser()) {
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
  let openness: string | undefined;
  /** Whether it could not be paused. */
  let isOpen = false;
  const run = async () => {
    try {
      await changeSurvey(survey.id, { submissionRateLimit: submissionsAMinute });
      if (isSameUser()) await publishSurvey(survey.id);
      await Promise.all(Array.from({ length: concurrency }, loop));
    } catch (error) {
      problem ??= problemText(error).text;
    }
    try {
      await pauseAtLast(survey.id, isSameUser, (text) => {
        openness = `${stillOpen} ${text}`;
      });
    } catch (error) {
      isOpen = true;
      problem = `${stillOpen} ${problemText(error).text} Please pause it under Publish.`;
    }
  };
  let hasEnded = false;
  const end = async () => {
    isStopped = true;
    await Promise.race([ending, new Promise((resolve) => setTimeout(resolve, longestEndMs))]);
    if (!hasEnded || isOpen) throw new UserError(problem ?? openness ?? stillOpen);
  };
  // Leaving the page would leave the survey open, with a part of the responses.
  const ask = (event: BeforeUnloadEvent) => event.preventDefault();
  window.addEventListener('beforeunload', ask);
  running.add(end);
  const ending = run().then(() => {
    hasEnded = true;
    running.delete(end);
    window.removeEventListener('beforeunload', ask);
  });
  const work: LongWork = {
    id: `responses/${survey.id}`,
    title: `Responses of ${survey.title}`,
    state: 'running',
    href: `/surveys/${survey.id}/results`,
  };
  const read = async (): Promise<LongWork> => {
    if (!hasEnded) return { ...work, progress: rows.length === 0 ? 1 : done / rows.length, problem: openness };
    if (isStopped && done < rows.length) problem ??= `Stopped after ${done} of ${rows.length} rows.`;
    problem ??= refused > 0 ? `${refused} of ${rows.length} rows were refused.` : undefined;
    return problem === undefined ? { ...work, state: 'done' } : { ...work, state: 'failed', problem };
  };
  await followWork(work, read, localPollMs);
}

const longestPauseMs = 10_000;

/**
 * Takes the limit back and pauses the survey. Until that has succeeded anybody may submit without a limit, so it is
 * tried again while the service is away, and after the user has signed in again; `tell` is told why. Throws what the
 * service refuses, and where somebody else has signed in since the import began: nothing is changed in their name.
 */
async function pauseAtLast(
  surveyId: string,
  isSameUser: () => boolean,
  tell: (problem: string) => void,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    if (!isSameUser()) throw new UserError(otherUserProblem);
    try {
      await changeSurvey(surveyId, { submissionRateLimit: null, status: 'PAUSED' });
      return;
    } catch (error) {
      const { text, isTemporary } = problemText(error);
      const isSignedOut = error instanceof SurveyApiError && error.status === 401;
      if (!isTemporary && !isSignedOut) throw error;
      tell(isSignedOut ? text : 'The service is away, or cannot be reached. Pausing it is tried again.');
      await new Promise((resolve) => setTimeout(resolve, Math.min(longestPauseMs, 500 * 2 ** tries)));
    }
  }
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
