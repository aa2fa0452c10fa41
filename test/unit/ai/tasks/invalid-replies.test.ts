import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CompletionRequest, Provider } from '../../../../src/ai/providers/provider.ts';
import { analysisTasks, type SentAnswer, summaryTask } from '../../../../src/ai/tasks/analyse-answers.ts';
import { ask, type Task } from '../../../../src/ai/tasks/ask.ts';
import { converseTask } from '../../../../src/ai/tasks/converse.ts';
import { generateSurveyTask } from '../../../../src/ai/tasks/generate-survey.ts';
import { mergeThemesTask } from '../../../../src/ai/tasks/merge-themes.ts';
import { optimiseQuestionTask } from '../../../../src/ai/tasks/optimise-question.ts';
import { reportTask } from '../../../../src/ai/tasks/report.ts';
import { translateTask } from '../../../../src/ai/tasks/translate.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import { assertWithin } from '../../../support/time-bars.ts';

/** The message to a model after a second invalid reply. */
async function told(task: Task<unknown>, reply: unknown): Promise<string[]> {
  const asked: CompletionRequest[] = [];
  const complete: Provider['complete'] = async (request) => {
    asked.push(request);
    return { text: JSON.stringify(reply), inputTokens: 1, outputTokens: 1 };
  };
  const provider: Provider = { name: 'openai', models: { high: 'm', low: 'm' }, complete };
  await assert.rejects(ask(provider, task, new AbortController().signal), { code: 'AI_PROVIDER_ERROR' });
  assert.equal(asked.length, 2);
  return JSON.parse(asked[1]?.turns.at(-1)?.text ?? '{}').mistakes;
}

const { survey, question } = withQuestion(blankSurvey(), {
  type: 'MULTIPLE_CHOICE',
  text: 'Which?',
  options: [{ text: 'One' }, { text: 'Two' }],
});
const head = { totalResponses: 20, completeResponses: 20, completionRate: 100, averageDuration: 30 };
const answers: SentAnswer[] = [
  { question: 'Why?', text: 'So' },
  { question: 'Why?', text: 'Not' },
];
const long = 'x'.repeat(5001);

describe('a model whose reply is invalid', () => {
  const cases: [name: string, task: Task<unknown>, reply: unknown, mistakes: string[]][] = [
    [
      'a survey',
      generateSurveyTask('Guests', 5),
      { title: 5, questions: [{ type: 'ESSAY', text: '' }] },
      [
        'title: must be a text, not a number',
        /^questions\.0\.type: must be one of .*NPS/.source,
        'questions.0.text: must not be empty',
      ],
    ],
    ['another kind of thing', generateSurveyTask('Guests', 5), [], ['the reply: must be an object, not a list']],
    [
      'a conversation',
      converseTask({ draft: null, history: [], message: 'm', questionCount: null }),
      { title: 't', questions: [{ type: 'NPS', text: 'q' }], message: null },
      ['message: must be a text, not null'],
    ],
    [
      'sentiment',
      analysisTasks.sentiment(answers, []),
      { answers: [{ n: 1, sentiment: 'glad' }] },
      ['n 1: sentiment: must be one of positive, negative, neutral, mixed', 'n 2: is missing'],
    ],
    [
      'sentiments that contradict each other',
      analysisTasks.sentiment(answers, []),
      {
        answers: [
          { n: 1, sentiment: 'positive' },
          { n: 2, sentiment: 'mixed' },
          { n: 2, sentiment: 'mixed' },
          { n: 1, sentiment: 'negative' },
          { n: 3, sentiment: 'positive' },
        ],
      },
      ['n 1: has several entries'],
    ],
    [
      'themes',
      analysisTasks.themes(answers, []),
      {
        answers: [
          { n: 1, themes: [], sentiment: 'mixed' },
          { n: 2, themes: ['a', true], sentiment: 'mixed' },
        ],
      },
      ['n 1: themes: must have at least 1 item', 'n 2: themes.1: must be a text, not true or false'],
    ],
    ['a note', analysisTasks.summary(answers, []), { note: long }, ['note: must have at most 5000 characters']],
    [
      'a summary',
      summaryTask('t', []),
      { summary: 's', insights: { a: 1 } },
      ['insights: must be a list, not an object', 'recommendations: is needed'],
    ],
    [
      'merged themes',
      mergeThemesTask({ settled: [], fresh: ['a', 'b'] }),
      { same: [{ n: 1.5, as: '2' }] },
      ['same.0.n: must be a whole number', 'same.0.as: must be a number, not a text'],
    ],
    [
      'translations',
      translateTask([{ key: 'title', text: 'Hi', maxLength: 10 }], { title: 't', from: 'en', to: 'de' }),
      { strings: [{ n: 1, text: '  ' }] },
      ['strings.0.text: must not be empty'],
    ],
    [
      'translations that contradict each other',
      translateTask([{ key: 'title', text: 'Hi', maxLength: 10 }], { title: 't', from: 'en', to: 'de' }),
      {
        strings: [
          { n: 1, text: 'Hallo' },
          { n: 1, text: 'Tschüss' },
        ],
      },
      ['n 1: has several entries'],
    ],
    [
      'suggestions',
      optimiseQuestionTask(question, survey),
      { suggestions: [{ aspect: 'colour', problem: 'p', text: 't' }] },
      ['suggestions.0.aspect: must be one of clarity, bias, length, engagement'],
    ],
    [
      'a report',
      reportTask(
        { survey, head, figures: [], themes: [], themesBase: 0, summary: undefined },
        { hasRecommendations: true, language: survey.language },
      ),
      { title: 't', sections: [] },
      ['sections: must have at least 1 item', 'recommendations: is needed'],
    ],
  ];
  for (const [name, task, reply, mistakes] of cases)
    it(`gets each mistake with its path, in the service’s words: ${name}`, async () => {
      const said = await told(task, reply);
      assert.equal(said.length, mistakes.length, JSON.stringify(said));
      for (const [index, mistake] of mistakes.entries())
        assert.ok(
          said[index] === mistake || new RegExp(mistake).test(said[index] ?? ''),
          `${said[index]} is not ${mistake}`,
        );
    });

  it('gets twenty mistakes at most', async () => {
    const said = await told(
      analysisTasks.sentiment(
        Array.from({ length: 50 }, () => ({ question: 'q', text: 't' })),
        [],
      ),
      { answers: [] },
    );
    assert.equal(said.length, 20);
    const many = await told(generateSurveyTask('Guests', 30), {
      title: 't',
      questions: Array.from({ length: 30 }, () => ({ type: 'RANKING', text: 'q', options: [] })),
    });
    assert.equal(many.length, 20);
  });
});

describe('a reply', () => {
  const note = async (text: string): Promise<unknown> => {
    const provider: Provider = {
      name: 'openai',
      models: { high: 'm', low: 'm' },
      complete: async () => ({ text, inputTokens: 1, outputTokens: 1 }),
    };
    return (await ask(provider, analysisTasks.summary(answers.slice(0, 1), []), new AbortController().signal)).value[0];
  };

  it('is read without characters that cannot be stored, however they are escaped, and otherwise unchanged', async () => {
    const texts = [
      '{"note":"a\\u0000b"}',
      '{"note":"a\\ud800b"}',
      '{"note":"a\ud800b"}',
      '{"note":"\ud83d\ude00 \\ud83d\\ude00"}',
    ];
    const notes = ['ab', 'a\ufffdb', 'a\ufffdb', '\ud83d\ude00 \ud83d\ude00'].map((text) => ({ note: text }));
    assert.deepEqual(await Promise.all(texts.map(note)), notes);
  });

  it('is read from a Markdown fence, also where the reply was cut before its end', async () => {
    for (const [start, end] of [
      ['```json\n', '\n```'],
      ['\n```\n', '\n```\n'],
      ['```json', '```'],
      ['```json\r\n', ''],
    ])
      assert.deepEqual(await note(`${start}{"note":"good \u0060\u0060\u0060"}${end}`), { note: 'good ```' });
    await assert.rejects(note('{"note":"good"}```'), { code: 'AI_PROVIDER_ERROR' });
  });

  it('is read in time that grows with its length, however much white space it has', async () => {
    for (const [start, end] of [
      ['{', '"note":"good"}'],
      ['```json', '{"note":"good"}```'],
      ['{"note":"good"}', '\n\n```'],
    ])
      for (const count of [60_000, 1_000_000]) {
        const startedAt = performance.now();
        await note(`${start}${' \n'.repeat(count)}${end}`).catch(() => undefined);
        assertWithin(2000, performance.now() - startedAt, `${count} blanks behind ${start}`);
      }
  });
});
