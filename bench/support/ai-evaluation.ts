import { z } from 'zod';
import type { Provider } from '../../src/ai/providers/provider.ts';
import { analysisTasks } from '../../src/ai/tasks/analyse-answers.ts';
import { ask } from '../../src/ai/tasks/ask.ts';
import { type DraftSurvey, generateSurveyTask } from '../../src/ai/tasks/generate-survey.ts';
import { Problem } from '../../src/errors.ts';
import {
  goldThemes,
  labelledAnswers,
  labelledQuestion,
  surveyTopics,
  type TopicLanguage,
  themedAnswers,
} from './labelled-answers.ts';

/**
 * Shares from 0 to 1 of what was wanted. `failures`: code of the error by the task that failed; what fails scores 0.
 */
export interface Scores {
  provider: string;
  models: Provider['models'];
  /** Surveys with exactly as many questions as asked for, all of which the service takes. */
  generation: number;
  /** Surveys in the language of their description. */
  language: number;
  /** Labelled answers with the sentiment of their label. */
  sentiment: number;
  /** Answers that got at least one theme. */
  assigned: number;
  /** Known themes that most of their answers got. */
  themes: number;
  failures: Record<string, string>;
  seconds: number;
}

const questionCount = 6;

/** Asks a provider what the service asks, in the same words, and scores the replies. */
export async function evaluateProvider(provider: Provider, signal: AbortSignal): Promise<Scores> {
  const failures: Record<string, string> = {};
  const startedAt = performance.now();
  const attempt = async <T>(name: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      failures[name] = error.code;
      return undefined;
    }
  };
  const surveys = await generated(provider, signal, attempt);
  const sentiment = await attempt('sentiment', () => sentimentAgreement(provider, signal));
  const themes = await attempt('themes', () => themeCoverage(provider, signal));
  return {
    provider: provider.name,
    models: provider.models,
    ...surveys,
    sentiment: sentiment ?? 0,
    assigned: themes?.assigned ?? 0,
    themes: themes?.found ?? 0,
    failures,
    seconds: rounded((performance.now() - startedAt) / 1000),
  };
}

type Attempt = <T>(name: string, work: () => Promise<T>) => Promise<T | undefined>;

async function generated(
  provider: Provider,
  signal: AbortSignal,
  attempt: Attempt,
): Promise<{ generation: number; language: number }> {
  let [valid, inLanguage] = [0, 0];
  for (const { language, description } of surveyTopics) {
    // The task takes no survey but one with the right count of valid questions.
    const draft = await attempt(
      `survey ${language}`,
      async () => (await ask(provider, generateSurveyTask(description, questionCount), signal)).value,
    );
    if (!draft) continue;
    if (draft.questions.length === questionCount) valid += 1;
    if (languageOf(draft) === language) inLanguage += 1;
  }
  return { generation: rounded(valid / surveyTopics.length), language: rounded(inLanguage / surveyTopics.length) };
}

const judged = z.array(z.object({ sentiment: z.string() }));

async function sentimentAgreement(provider: Provider, signal: AbortSignal): Promise<number> {
  // Mixed up, so that neighbours do not give each other away.
  const order = labelledAnswers
    .map((answer, index) => ({ answer, place: (index * 17) % labelledAnswers.length }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ answer }) => answer);
  const { value } = await ask(
    provider,
    analysisTasks.sentiment(
      order.map(({ text }) => ({ question: labelledQuestion, text })),
      [],
    ),
    signal,
  );
  const found = judged.parse(value);
  return rounded(order.filter(({ sentiment }, index) => found[index]?.sentiment === sentiment).length / order.length);
}

const themed = z.array(z.object({ themes: z.array(z.string()) }));

async function themeCoverage(provider: Provider, signal: AbortSignal): Promise<{ assigned: number; found: number }> {
  const { value } = await ask(
    provider,
    analysisTasks.themes(
      themedAnswers.map(({ text }) => ({ question: labelledQuestion, text })),
      [],
    ),
    signal,
  );
  const found = themed.parse(value);
  const isMet = ([gold, pattern]: [string, RegExp]): boolean => {
    const own = themedAnswers.flatMap(({ theme }, index) => (theme === gold ? [found[index]?.themes ?? []] : []));
    return own.filter((names) => names.some((name) => pattern.test(name))).length * 2 > own.length;
  };
  const assigned = themedAnswers.filter((_, index) => (found[index]?.themes.length ?? 0) > 0).length;
  const golds = Object.entries(goldThemes);
  return {
    assigned: rounded(assigned / themedAnswers.length),
    found: rounded(golds.filter(isMet).length / golds.length),
  };
}

const commonWords: Readonly<Record<TopicLanguage, RegExp>> = {
  en: /\b(the|you|your|how|of|and|are|with|what|would)\b/gi,
  de: /\b(der|die|das|sie|wie|und|ist|mit|ihre?r?|wir|unserer?)\b/gi,
  fr: /\b(le|les|vous|votre|et|des|du|êtes|une?|notre|quel(le)?)\b/gi,
  es: /\b(el|los|las|usted|su|con|qué|del|nuestro|cómo|y)\b/gi,
};

/** The language whose commonest words stand in it most often; none if there are no such words. */
export function languageOf({
  title,
  description,
  questions,
}: Pick<DraftSurvey, 'title' | 'description'> & { questions: readonly { text: string }[] }): string | undefined {
  const text = [title, description ?? '', ...questions.map((question) => question.text)].join('\n');
  const counts = Object.entries(commonWords).map(([language, words]) => ({
    language,
    count: text.match(words)?.length ?? 0,
  }));
  const [best] = counts.toSorted((one, other) => other.count - one.count);
  return best && best.count > 0 ? best.language : undefined;
}

function rounded(share: number): number {
  return Number(share.toFixed(2));
}
