import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import postgres from 'postgres';
import { analysisTypes } from '../../src/ai/tasks/analyse-answers.ts';
import { type AiFixture, aiProviders, endedJob, startAiFixture } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { callForWork, resultOfWork } from '../support/ai-work.ts';
import type { Reply } from '../support/client.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { eventually } from '../support/eventually.ts';
import { readable, seededAnswers, seeds, surroundings } from '../support/seeded-identifiers.ts';
import { sharedStores } from '../support/stores.ts';

/** As much as one call holds and no limit a minute: the test is about what is sent, not when. */
const env = {
  LOG_LEVEL: 'debug',
  AI_BATCH_SIZE: '200',
  ...Object.fromEntries(
    ['OPENAI', 'ANTHROPIC', 'GEMINI', 'AZURE_OPENAI'].flatMap((prefix) => [
      [`${prefix}_RPM`, '1000000'],
      [`${prefix}_TPM`, '1000000000'],
    ]),
  ),
};

const textsOf = ({ user }: SeenCall): string[] =>
  (JSON.parse(user[0] ?? '{}').answers ?? []).map(({ text }: any) => text);
const question = (text: string) => draftQuestion('YES_NO', text);

/** Replies with as much of what it was given as fits: what a provider does not get it cannot tell. */
function parrot(call: SeenCall): unknown {
  const given = JSON.parse(call.user[0] ?? '{}');
  const texts = textsOf(call);
  const all = [...texts, ...(given.notes ?? [])].join(' ').slice(0, 1500) || 'nothing';
  const properties = Object.keys(call.schema.properties);
  if (properties.includes('same')) return { same: [] };
  if (properties.includes('note')) return { note: all };
  if (properties.includes('insights')) return { summary: all, insights: [all], recommendations: [all] };
  if (properties.includes('sections') && !properties.includes('questions'))
    return {
      title: 'Report',
      sections: [{ heading: 'All', text: call.user.join(' ').slice(0, 9000), questions: [1] }],
      recommendations: ['More'],
    };
  if (properties.includes('suggestions')) return { suggestions: [] };
  if (properties.includes('strings'))
    return { strings: given.strings.map(({ n, text }: any) => ({ n, text: `~ ${text}` })) };
  if (properties.includes('questions'))
    return {
      ...(properties.includes('message') && { message: 'More?' }),
      title: 'Lunch',
      description: null,
      sections: [],
      questions: Array.from({ length: given.questionCount ?? 5 }, (_, index) => question(`Question ${index}`)),
    };
  return {
    answers: texts.map((text, index) => ({
      n: index + 1,
      sentiment: 'neutral',
      ...(call.raw.includes('knownThemes') && {
        themes: [
          text
            .replace(/_\d+\]/g, '')
            .slice(0, 70)
            .trim() || 'Other',
        ],
      }),
    })),
  };
}

/** Seeds that can be read in a text, however it spells them. */
function leaked(text: string): string[] {
  const plain = readable(text);
  return seeds
    .map((seed) => seed.text)
    .filter((seed) => plain.includes(readable(seed)) || plain.includes(JSON.stringify(readable(seed)).slice(1, -1)));
}

const letters = (text: string): string => readable(text).replace(/[^\p{L}\p{N}@]/gu, '');
/**
 * What may be left of an answer without its placeholders. Chinese has no spaces, so the words beside an address can go
 * with it.
 */
const allowed = new Set(
  [...surroundings, '请联系#', '#谢谢'].flatMap((text) =>
    ['', 'mailto'].map((scheme) => letters(text.replace('#', scheme))),
  ),
);
const unmasked = (text: string): string => letters(text.replace(/\[[A-Z]+_\d+\]/g, ''));

describe('personal data in answers', () => {
  let scene: AiFixture;
  let surveyId: string;
  let questionId: string;
  let openId: string;
  const toldBack: string[] = [];

  before(async () => {
    scene = await startAiFixture(env);
    const { admin } = scene;
    surveyId = (await admin.create('/surveys', { title: 'Canteen', status: 'ACTIVE' })).id;
    const add = (body: object) => admin.create(`/surveys/${surveyId}/questions`, body);
    const [long, short, choice, email, closed, number] = [
      await add({ type: 'LONG_TEXT', text: 'What do you think?' }),
      await add({ type: 'SHORT_TEXT', text: 'And in short?' }),
      await add({
        type: 'MULTIPLE_CHOICE',
        text: 'Which dish?',
        options: [{ text: 'Soup' }, { text: 'Salad' }],
        settings: { allowOther: true },
      }),
      await add({ type: 'EMAIL', text: 'Your address?' }),
      await add({ type: 'YES_NO', text: 'Well?' }),
      await add({ type: 'NUMBER', text: 'How often?' }),
    ];
    [questionId, openId] = [closed.id, long.id];
    const rest = seededAnswers
      .map((seed, index) => ({ seed, other: seededAnswers[(index * 7 + 3) % seededAnswers.length] ?? seed }))
      [Symbol.iterator]();
    const sender = async () => {
      for (const { seed, other } of rest) {
        const answers = [
          { questionId: long.id, textValue: seed.answer },
          { questionId: short.id, textValue: other.answer.replaceAll('\n', ' ') },
          { questionId: choice.id, textValue: seed.text },
          { questionId: email.id, textValue: 'private.person@example.org' },
          { questionId: closed.id, textValue: 'yes' },
          { questionId: number.id, numberValue: 491_711_234_567 },
        ];
        const reply = await admin.submit(surveyId, {
          answers,
          respondent: seed.text,
          metadata: { source: other.text },
        });
        assert.equal(reply.status, 201, JSON.stringify(reply.body));
      }
    };
    await Promise.all(Array.from({ length: 16 }, sender));
    await eventually(
      async () =>
        assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, seededAnswers.length),
      60_000,
    );
  });
  after(async () => scene?.stop());
  beforeEach(() => {
    scene.ai.calls.length = 0;
    scene.ai.answer = parrot;
  });

  /** Runs work of AI to its end; gives what was replied. */
  const run = async (path: string, body: object): Promise<any> => {
    const { admin } = scene;
    const reply: Reply = await admin.call('POST', path, { body });
    assert.ok([200, 201, 202].includes(reply.status), `${path}: ${JSON.stringify(reply.body).slice(0, 500)}`);
    const data =
      reply.status === 202
        ? (await eventually(() => endedJob(admin, reply.body.data.jobId), 120_000)).result
        : reply.body.data;
    toldBack.push(JSON.stringify(data));
    return data;
  };
  const assertNothingSent = () => {
    for (const { raw, system, user } of scene.ai.calls)
      assert.deepEqual([raw, system, ...user].flatMap(leaked), [], raw.slice(0, 300));
    for (const { raw } of scene.ai.calls) assert.doesNotMatch(readable(raw), /private\.person|491711234567/);
  };

  for (const provider of aiProviders) {
    for (const analysisType of analysisTypes)
      it(`${provider} receives placeholders in ${analysisType} instead of 200 identifiers, in every spelling`, async () => {
        await run(`/ai/surveys/${surveyId}/analyze?limit=1000`, { analysisType, provider });
        assert.ok(scene.ai.calls.every(({ wire }) => wire === provider));
        const sent = scene.ai.calls.flatMap(textsOf);
        assert.equal(sent.length, seededAnswers.length * 2);
        for (const text of sent) assert.match(text, /\[[A-Z]+_\d+\]/);
        assert.deepEqual(
          [...new Set(sent.map(unmasked))].filter((left) => !allowed.has(left)),
          [],
        );
        assertNothingSent();
      });

    it(`${provider} receives no identifier by reports, suggestions, translations, generated surveys or conversations`, async () => {
      await run(`/ai/surveys/${surveyId}/report`, { provider });
      await run(`/ai/questions/${questionId}/optimize`, { provider });
      await run(`/ai/surveys/${surveyId}/translate`, {
        provider,
        languages: [{ openai: 'de', anthropic: 'fr', gemini: 'ar', azure: 'ja' }[provider]],
      });
      await run('/ai/generate-survey', { provider, prompt: `About ${provider}`, questionCount: 5 });
      const { conversationId } = await run('/ai/conversations', { provider, prompt: 'About our canteen' });
      await run(`/ai/conversations/${conversationId}/messages`, { message: 'And more' });
      assert.ok(scene.ai.calls.length >= 6);
      assertNothingSent();
    });
  }

  it('no identifier appears in results, reports, jobs, usage, debug logs or AI tables', async () => {
    const { admin, service, ai } = scene;
    // A provider that quotes what it was sent, and one that never replies what fits, about however few answers it is
    // asked.
    const unfit = Array.from({ length: 40 }, (_, n) => ({ text: n % 2 === 0 ? '{' : '[]' }));
    for (const fault of [{ status: 400, body: { error: { message: 'wrong: [EMAIL_1]' } } }, ...unfit])
      ai.faults.push(fault);
    for (const provider of ['openai', 'azure']) {
      const [seed] = seededAnswers;
      assert.equal(
        (await admin.submit(surveyId, { answers: [{ questionId: openId, textValue: `${provider}: ${seed?.answer}` }] }))
          .status,
        201,
      );
      const reply = await callForWork(admin, `/ai/surveys/${surveyId}/analyze`, {
        analysisType: 'sentiment',
        provider,
      });
      assert.deepEqual([reply.status, reply.body.code], [502, 'AI_PROVIDER_ERROR']);
      toldBack.push(JSON.stringify(reply.body));
    }
    ai.faults.length = 0;
    assertNothingSent();
    for (const path of ['/ai/usage', `/ai/questions/${questionId}/suggestions`, '/audit'])
      toldBack.push(JSON.stringify((await admin.call('GET', path)).body));
    const { databaseUrl } = await sharedStores();
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    try {
      const tables = await sql<
        { name: string }[]
      >`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name LIKE 'ai\_%' AND table_name <> 'ai_settings'`;
      assert.ok(tables.length >= 6, JSON.stringify(tables));
      for (const { name } of tables)
        toldBack.push(JSON.stringify(await sql`SELECT row_to_json(t) AS row FROM ${sql(name)} AS t`));
    } finally {
      await sql.end();
    }
    assert.doesNotMatch(service.logs(), /MaxListeners/);
    assert.ok(toldBack.join('').includes('[EMAIL_1]'), 'placeholders come back');
    for (const text of [...toldBack, service.logs()]) {
      assert.deepEqual(leaked(text), [], text.slice(0, 300));
      assert.doesNotMatch(text, /private\.person/);
    }
  });
});

describe('AI_ANONYMIZE_PII=false', () => {
  it('without anonymising the same search finds the identifiers in what is sent', async () => {
    const { admin, ai, stop } = await startAiFixture({ ...env, AI_ANONYMIZE_PII: 'false' });
    try {
      ai.answer = parrot;
      const { id } = await admin.create('/surveys', { title: 'Canteen', status: 'ACTIVE' });
      const { id: open } = await admin.create(`/surveys/${id}/questions`, {
        type: 'LONG_TEXT',
        text: 'What do you think?',
      });
      for (const { answer } of seededAnswers.slice(0, 10))
        assert.equal((await admin.submit(id, { answers: [{ questionId: open, textValue: answer }] })).status, 201);
      await resultOfWork(admin, `/ai/surveys/${id}/analyze`, { analysisType: 'sentiment' });
      assert.deepEqual([...new Set(ai.calls.flatMap(({ raw }) => leaked(raw)))], [seeds[0]?.text]);
      assert.equal(
        ai.calls
          .flatMap(textsOf)
          .map(unmasked)
          .filter((left) => allowed.has(left)).length,
        0,
      );
    } finally {
      await stop();
    }
  });
});
