import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createSurveyActors } from '../../src/actors/survey-actors.ts';
import type { SurveyWithQuestions } from '../../src/domain/survey.ts';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { blankSurvey, withQuestion } from '../../test/support/questions.ts';

export interface ActorSize {
  questions: number;
  /**
   * Bytes of one cached survey that takes submissions: its actor, its row with questions, and what answers are checked
   * against.
   */
  busyBytes: number;
  /** Bytes of an actor after half a minute without use. */
  idleBytes: number;
}

/** Caches `count` surveys with `questions` questions each and measures their memory. */
export async function measureActorSize(count: number, questions: number): Promise<ActorSize> {
  // As read from PostgreSQL: surveys share no objects.
  const stored = JSON.stringify(example(questions));
  const ids = /00000000-0000-7000-8000-[0-9a-f]{12}/g;
  const load = async (id: string): Promise<SurveyWithQuestions> => ({
    ...JSON.parse(stored.replace(ids, () => newId())),
    id,
    createdAt: new Date(),
    updatedAt: new Date(),
    publishedAt: new Date(),
  });
  let aheadMs = 0;
  const nothing = async () => undefined;
  const actors = createSurveyActors({
    audit: { record: async () => undefined },
    surveys: { load, change: () => Promise.reject(new Error('nothing changes here')) },
    intake: {
      announce: async () => true,
      restoreDeleted: async () => true,
      revision: async () => undefined,
      counts: nothing,
      filling: nothing,
      markDeleted: nothing,
    },
    countResponses: async () => ({ total: 0, complete: 0 }),
    broadcast: () => undefined,
    now: () => Date.now() + aheadMs,
    monotonicMs: () => performance.now() + aheadMs,
    log: createLog('silent'),
    metrics: { surveysCached: () => undefined },
  });
  // The first surveys also allocate what all share.
  for (let n = 0; n < 100; n += 1) await actors.lookUp(newId());
  const before = usedBytes();
  for (let n = 0; n < count; n += 1) await actors.lookUp(newId());
  const busyBytes = Math.round((usedBytes() - before) / count);
  aheadMs = 30_000;
  // Each sweep, one a second, compresses a few.
  for (let n = 0; n < count; n += 10) actors.sweep();
  const idleBytes = Math.round((usedBytes() - before) / count);
  actors.stop();
  return { questions, busyBytes, idleBytes };
}

function example(questions: number): SurveyWithQuestions {
  let survey: SurveyWithQuestions = { ...blankSurvey(), status: 'ACTIVE' };
  const options = ['Very good', 'Good', 'Bad', 'Very bad'].map((text) => ({ text }));
  for (let n = 0; n < questions; n += 1)
    survey = withQuestion(
      survey,
      n % 2 === 0
        ? { type: 'MULTIPLE_CHOICE', text: `How was part ${n}?`, options }
        : { type: 'RATING_SCALE', text: `How many stars for part ${n}?` },
    ).survey;
  return survey;
}

/** On the heap and beside it, after everything that can go has gone. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
