import { takesAnswersOf } from '../domain/questions/question-meaning.ts';
import { type CompiledSurvey, compileSurvey } from '../domain/submission/answers.ts';
import type { Question, SurveyWithQuestions } from '../domain/survey.ts';
import { formerVersionsKept, type SurveyDefinition, type SurveyVersions } from '../stores/postgres/survey-versions.ts';

/** What a submission is judged by: the survey with the questions of the version that the respondent saw. */
export interface JudgingSurvey {
  survey: SurveyWithQuestions;
  compiled: CompiledSurvey;
}

interface LoadedVersion {
  judging: JudgingSurvey;
  /** Until when it may be submitted to. */
  endsAtMs: number;
}

export interface FormerVersionsDeps {
  versions: Pick<SurveyVersions, 'find'>;
  now(): number;
}

/** How long a version may be submitted to after it was replaced, and a response continued after its last save. */
const acceptedForMs = 30 * 24 * 3600 * 1000;
/** Definitions of 500 questions take about 2 MB when compiled. */
const maxCached = 64;

/** Former versions of surveys, prepared for judging submissions of respondents who saw them. */
export function createFormerVersions({ versions, now }: FormerVersionsDeps) {
  /** By survey, revision and version; the last used ones last. */
  const cache = new Map<string, LoadedVersion | undefined>();

  const load = async ({ survey }: JudgingSurvey, version: number): Promise<LoadedVersion | undefined> => {
    const found = await versions.find(survey.id, version);
    if (!found) return undefined;
    const endsAtMs = found.replacedAt ? found.replacedAt.getTime() + acceptedForMs : Number.POSITIVE_INFINITY;
    const former = formerSurvey(survey, found.definition, version);
    return former && { judging: { survey: former, compiled: compileSurvey(former) }, endsAtMs };
  };

  const find = async (present: JudgingSurvey, version: number): Promise<LoadedVersion | undefined> => {
    const { survey } = present;
    const name = `${survey.id} ${survey.revision} ${version}`;
    const known = cache.has(name) ? cache.get(name) : await load(present, version);
    cache.delete(name);
    cache.set(name, known);
    const [oldest] = cache.keys();
    if (cache.size > maxCached && oldest !== undefined) cache.delete(oldest);
    return known;
  };

  const lookUp = {
    /**
     * By what a submission is judged. `savedAtMs`: last save of the response that is continued, where the respondent
     * names no version.
     */
    async forSubmission(
      present: JudgingSurvey,
      version: number,
      savedAtMs?: number,
    ): Promise<JudgingSurvey | 'never was' | 'gone'> {
      const { survey } = present;
      if (version > survey.version) return 'never was';
      if (version < survey.version - formerVersionsKept) return 'gone';
      const known = await find(present, version);
      if (!known) return 'gone';
      const isReplaced = Number.isFinite(known.endsAtMs);
      const endsAtMs = isReplaced && savedAtMs !== undefined ? savedAtMs + acceptedForMs : known.endsAtMs;
      return now() <= endsAtMs ? known.judging : 'gone';
    },

    /** By what a saved response was judged, however long ago; the present survey where that is not known any more. */
    async ofResponse(present: JudgingSurvey, version: number): Promise<JudgingSurvey> {
      if (version === present.survey.version) return present;
      return (await find(present, version))?.judging ?? present;
    },

    /** A removed question as the last version with it asks it; undefined if none with it may be submitted to any more. */
    async removedQuestion(present: JudgingSurvey, questionId: string): Promise<Question | undefined> {
      const { questions, version: current } = present.survey;
      const isRemoved = questions.some(({ id, isHidden }) => id === questionId && isHidden);
      const oldest = isRemoved ? Math.max(1, current - formerVersionsKept) : current;
      for (let version = current - 1; version >= oldest; version -= 1) {
        const judging = await lookUp.forSubmission(present, version);
        // Versions are replaced in their order: those before it count no more either.
        if (typeof judging === 'string') return undefined;
        const asked = judging.survey.questions.find(({ id, isHidden }) => id === questionId && !isHidden);
        if (asked) return asked;
      }
      return undefined;
    },
  };
  return lookUp;
}

export type FormerVersions = ReturnType<typeof createFormerVersions>;

/**
 * The survey as respondents saw it in a version. What it asks, and of whom, is the version's; where answers and marks of
 * what was not asked are stored is the present survey's, since the row may hold what a later version saved. Undefined if
 * answers to the former questions cannot be stored among those to the present ones.
 */
function formerSurvey(
  present: SurveyWithQuestions,
  definition: SurveyDefinition,
  version: number,
): SurveyWithQuestions | undefined {
  const asked = definition.questions.filter(({ isHidden }) => !isHidden);
  const byId = new Map(present.questions.map((question) => [question.id, question]));
  const questions: Question[] = [];
  for (const question of asked) {
    const now = byId.get(question.id);
    if (!now || !takesAnswersOf(now, question)) return undefined;
    questions.push(storedAs(question, now));
    byId.delete(question.id);
  }
  for (const question of byId.values()) questions.push({ ...question, isHidden: true });
  // A definition leaves out what it does not have.
  return { ...present, isShuffled: false, sections: [], ...definition, questions, version };
}

function storedAs({ notAsked: _, ...question }: Question, { slots, notAsked }: Question): Question {
  return { ...question, slots, ...(notAsked && { notAsked }) };
}
