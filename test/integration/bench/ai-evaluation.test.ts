import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { languageOf } from '../../../bench/support/ai-evaluation.ts';
import { goldThemes, labelledAnswers, surveyTopics, themedAnswers } from '../../../bench/support/labelled-answers.ts';
import { sentiments } from '../../../src/domain/analytics/sentiment.ts';
import { type AiProviderServer, type SeenCall, startAiProvider } from '../../support/ai-provider.ts';
import { draftQuestion } from '../../support/draft-question.ts';

const main = fileURLToPath(new URL('../../../bench/eval-ai.js', import.meta.url));

function run(env: Record<string, string>): Promise<{ code: number | null; lines: string[] }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [main],
      { env: { PATH: process.env['PATH'], ...env }, timeout: 60_000 },
      (_error, stdout) => resolve({ code: child.exitCode, lines: stdout.trim().split('\n') }),
    );
  });
}

const wording: Record<string, string> = {
  en: 'What would you like with the soup?',
  de: 'Wie ist die Suppe und wie sind Sie mit ihr zufrieden?',
  fr: 'Quel est votre avis et quels sont les plats que vous aimez?',
  es: '¿Qué opina usted del menú y de los platos?',
};

/** Knows every label; a survey comes in the language of its description. */
function knowAll({ user }: SeenCall): unknown {
  const data = JSON.parse(user[0] ?? '{}');
  if (data.description)
    return survey(
      wording[surveyTopics.find(({ description }) => description === data.description)?.language ?? ''] ?? '',
      data.questionCount,
    );
  const isThemes = 'knownThemes' in data;
  const answers = data.answers.map(({ n, text }: { n: number; text: string }) => ({
    n,
    sentiment: labelledAnswers.find((answer) => answer.text === text)?.sentiment ?? 'neutral',
    ...(isThemes && { themes: [themedAnswers.find((answer) => answer.text === text)?.theme ?? 'Other'] }),
  }));
  return { answers };
}

const survey = (text: string, count: number) => ({
  title: text,
  description: null,
  sections: [],
  questions: Array.from({ length: count }, () => draftQuestion('LONG_TEXT', text)),
});

describe('the evaluation of AI providers', () => {
  let ai: AiProviderServer;
  before(async () => {
    ai = await startAiProvider();
  });
  after(() => ai.close());
  beforeEach(() => {
    ai.faults.length = 0;
    ai.answer = knowAll;
  });

  it('gives full marks to all four providers if every label is right, with a line and a line of JSON each', async () => {
    const { code, lines } = await run(ai.env);
    assert.equal(code, 0, lines.join('\n'));
    assert.equal(lines.length, 8);
    const scores = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    assert.deepEqual(
      scores.map(({ provider }) => provider),
      ['openai', 'anthropic', 'gemini', 'azure'],
    );
    for (const { generation, language, sentiment, assigned, themes, failures } of scores)
      assert.deepEqual(
        { generation, language, sentiment, assigned, themes, failures },
        { generation: 1, language: 1, sentiment: 1, assigned: 1, themes: 1, failures: {} },
      );
  });

  it('scores constant replies: one language for all, one sentiment for all, one theme for all', async () => {
    ai.answer = (call) => {
      const data = JSON.parse(call.user[0] ?? '{}');
      if (data.description) return survey(wording['en'] ?? '', data.questionCount);
      return {
        answers: data.answers.map(({ n }: { n: number }) => ({
          n,
          sentiment: 'positive',
          ...('knownThemes' in data && { themes: ['Price'] }),
        })),
      };
    };
    const { code, lines } = await run({
      OPENAI_API_KEY: ai.env['OPENAI_API_KEY'] ?? '',
      OPENAI_BASE_URL: ai.env['OPENAI_BASE_URL'] ?? '',
    });
    assert.equal(code, 0, lines.join('\n'));
    const { generation, language, sentiment, assigned, themes } = JSON.parse(lines.at(-1) ?? '');
    assert.deepEqual(
      { generation, language, sentiment, assigned, themes },
      { generation: 1, language: 0.25, sentiment: 0.25, assigned: 1, themes: 0.25 },
    );
  });

  it('exits with 1 and names the failed tasks, which score nothing', async () => {
    ai.answer = (call) =>
      JSON.parse(call.user[0] ?? '{}').description ? survey('One question is too few', 1) : knowAll(call);
    const { code, lines } = await run({
      ANTHROPIC_API_KEY: ai.env['ANTHROPIC_API_KEY'] ?? '',
      ANTHROPIC_BASE_URL: ai.url,
    });
    assert.equal(code, 1);
    const { generation, sentiment, failures } = JSON.parse(lines.at(-1) ?? '');
    assert.deepEqual(
      [generation, sentiment, Object.keys(failures).length, failures['survey de']],
      [0, 1, 4, 'AI_PROVIDER_ERROR'],
    );
  });

  it('reports in one line that no provider has a key, and exits with 2', async () => {
    const { code, lines } = await run({});
    assert.deepEqual([code, lines.length], [2, 1]);
    assert.match(lines[0] ?? '', /OPENAI_API_KEY.*ANTHROPIC_API_KEY.*GEMINI_API_KEY.*AZURE_OPENAI_API_KEY/);
  });

  it('reports a malformed key in one line, continues with the other providers, and exits with 1', async () => {
    const { OPENAI_API_KEY = '', OPENAI_BASE_URL = '' } = ai.env;
    const { code, lines } = await run({ ANTHROPIC_API_KEY: 'not-a-key', OPENAI_API_KEY, OPENAI_BASE_URL });
    assert.equal(code, 1);
    assert.match(lines[0] ?? '', /^openai /);
    assert.match(lines.at(-1) ?? '', /^anthropic cannot be asked: AI_KEY_INVALID, .*form of a key/);
  });

  it('has at least forty labelled answers, as many of each sentiment, and answers for every known theme', () => {
    assert.ok(labelledAnswers.length >= 40);
    for (const sentiment of sentiments)
      assert.equal(
        labelledAnswers.filter((answer) => answer.sentiment === sentiment).length * sentiments.length,
        labelledAnswers.length,
      );
    assert.equal(new Set(labelledAnswers.map(({ text }) => text)).size, labelledAnswers.length);
    assert.deepEqual(new Set(themedAnswers.map(({ theme }) => theme)), new Set(Object.keys(goldThemes)));
    for (const { language, description } of surveyTopics)
      assert.equal(languageOf({ title: description, description: null, questions: [] }), language);
  });
});
