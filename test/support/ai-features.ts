import assert from 'node:assert/strict';
import postgres from 'postgres';
import { type AiFixture, type aiProviders, type OpenSurvey, openSurvey } from './ai-fixture.ts';
import type { SeenCall } from './ai-provider.ts';
import { callForWork } from './ai-work.ts';
import type { Client, Reply } from './client.ts';
import { draftQuestion } from './draft-question.ts';
import { signInNewUser } from './new-user.ts';
import { sharedStores } from './stores.ts';

export type AiProvider = (typeof aiProviders)[number];

/** An EDITOR with a survey of their own, so that stored rows and usage are separate from others. */
export interface Stage {
  provider: AiProvider;
  client: Client & { id: string };
  survey: OpenSurvey;
  conversationId: string;
}

export interface Feature {
  name: string;
  /** As the reference has it. */
  route: `POST ${string}`;
  /** Whether a job does it. */
  isJob: boolean;
  /** Whether it is work of many calls. */
  isBulk?: boolean;
  ask(stage: Stage): Promise<Reply>;
  /** Checks a good reply. */
  check(data: any, stage: Stage): void;
}

const title = 'Lunch at work';
const answers = ['good food', 'bad queue', 'a chair'];

export async function setStage({ service, admin }: AiFixture, provider: AiProvider): Promise<Stage> {
  const client = await signInNewUser(service, admin);
  const survey = await openSurvey(client, answers);
  const { conversationId } = await client.create('/ai/conversations', {
    prompt: 'About lunch',
    questionCount: 5,
    provider,
  });
  return { provider, client, survey, conversationId };
}

/** A valid reply. */
export function goodReply({ user, schema }: SeenCall): unknown {
  const data = JSON.parse(user[0] ?? '{}');
  const has = (name: string) => name in schema.properties;
  if (has('strings')) return { strings: data.strings.map(({ n, text }: any) => ({ n, text: `${data.to}: ${text}` })) };
  if (has('suggestions'))
    return { suggestions: [{ aspect: 'clarity', problem: 'Unclear', text: 'How was lunch?', options: [] }] };
  if (has('sections') && !has('questions'))
    return {
      title,
      sections: [{ heading: 'Lunch', text: 'It was eaten.', questions: [1] }],
      recommendations: ['More soup'],
    };
  if (has('answers'))
    return {
      answers: data.answers.map(({ n }: any) => ({
        n,
        sentiment: 'positive',
        ...(data.knownThemes && { themes: ['Food'] }),
      })),
    };
  if (has('note')) return { note: 'Guests like the food.' };
  if (has('insights')) return { summary: 'They like it', insights: ['Food is good'], recommendations: ['Keep it'] };
  if (has('word')) return { word: 'Hello' };
  const count = data.questionCount ?? 6;
  const questions = Array.from({ length: count }, (_, n) => draftQuestion('NPS', `Question ${n + 1}`));
  return { ...(has('message') && { message: 'Here it is' }), title, description: null, sections: [], questions };
}

const analysis = (analysisType: string, check: Feature['check']): Feature => ({
  name: analysisType,
  route: 'POST /ai/surveys/{id}/analyze',
  isJob: true,
  isBulk: true,
  check,
  ask: ({ client, survey, provider }) =>
    callForWork(client, `/ai/surveys/${survey.id}/analyze`, { analysisType, provider }),
});

export const features: readonly Feature[] = [
  {
    name: 'generate',
    route: 'POST /ai/generate-survey',
    isJob: true,
    ask: ({ client, provider }) =>
      callForWork(client, '/ai/generate-survey', {
        prompt: `About lunch ${Math.random()}`,
        questionCount: 5,
        provider,
        save: true,
      }),
    check: ({ survey, provider }, stage) =>
      assert.deepEqual(
        [survey.title, survey.status, survey.questions.length, provider],
        [title, 'DRAFT', 5, stage.provider],
      ),
  },
  {
    name: 'begin a conversation',
    route: 'POST /ai/conversations',
    isJob: false,
    ask: ({ client, provider }) =>
      client.call('POST', '/ai/conversations', { body: { prompt: 'About lunch', questionCount: 5, provider } }),
    check: ({ message, draft }) => assert.deepEqual([message, draft.questions.length], ['Here it is', 5]),
  },
  {
    name: 'go on with a conversation',
    route: 'POST /ai/conversations/{id}/messages',
    isJob: false,
    ask: ({ client, conversationId }) =>
      client.call('POST', `/ai/conversations/${conversationId}/messages`, { body: { message: 'One more' } }),
    check: ({ draft }) => assert.equal(draft.questions.length, 6),
  },
  {
    name: 'optimise',
    route: 'POST /ai/questions/{questionId}/optimize',
    isJob: true,
    ask: ({ client, survey, provider }) =>
      callForWork(client, `/ai/questions/${survey.questionId}/optimize`, { provider }),
    check: ({ suggestions }) =>
      assert.deepEqual(
        suggestions.map(({ aspect, status }: any) => [aspect, status]),
        [['clarity', 'PENDING']],
      ),
  },
  analysis('sentiment', ({ sentiment }) =>
    assert.deepEqual(sentiment, { positive: 3, negative: 0, neutral: 0, mixed: 0 }),
  ),
  analysis('themes', ({ themes }) =>
    assert.deepEqual(
      themes.map(({ name, count }: any) => [name, count]),
      [['Food', 3]],
    ),
  ),
  analysis('summary', (data) =>
    assert.deepEqual(data, { summary: 'They like it', insights: ['Food is good'], recommendations: ['Keep it'] }),
  ),
  {
    name: 'report',
    route: 'POST /ai/surveys/{id}/report',
    isJob: true,
    ask: ({ client, survey, provider }) => callForWork(client, `/ai/surveys/${survey.id}/report`, { provider }),
    check: ({ sections, recommendations }, { survey }) =>
      assert.deepEqual([sections[0].questionIds, recommendations], [[survey.questionId], ['More soup']]),
  },
  {
    name: 'translate',
    route: 'POST /ai/surveys/{id}/translate',
    isJob: true,
    ask: ({ client, survey, provider }) =>
      callForWork(client, `/ai/surveys/${survey.id}/translate`, { languages: ['de'], provider }),
    check: ({ translations }) =>
      assert.deepEqual(translations, [{ language: 'de', direction: 'ltr', translatedCount: 2 }]),
  },
];

export interface StoredAiRows {
  /** How much lies in the stores of what AI makes. */
  rows: Record<string, number>;
  /** How the last job ended. */
  job: { status: string; code: string | null } | undefined;
}

/** Looks behind the interface: what is stored of a stage, half or whole. */
export async function openAiTables() {
  const { databaseUrl } = await sharedStores();
  const sql = postgres(databaseUrl, { max: 4, onnotice: () => undefined });
  return {
    async of({ client, survey }: Stage): Promise<StoredAiRows> {
      const [rows] = await sql`SELECT
        (SELECT count(*)::int FROM surveys WHERE owner_id = ${client.id}) AS surveys,
        (SELECT coalesce(sum(revision), 0)::int FROM ai_conversations WHERE owner_id = ${client.id}) AS turns,
        (SELECT count(*)::int FROM ai_reports WHERE survey_id = ${survey.id}) AS reports,
        (SELECT count(*)::int FROM ai_suggestions WHERE survey_id = ${survey.id}) AS suggestions,
        (SELECT count(*)::int FROM ai_findings WHERE survey_id = ${survey.id}) AS findings,
        (SELECT count(*)::int FROM translations WHERE survey_id = ${survey.id}) AS translations`;
      const [job] = await sql<
        { status: string; code: string | null }[]
      >`SELECT status, error->>'code' AS code FROM ai_jobs WHERE owner_id = ${client.id} ORDER BY created_at DESC LIMIT 1`;
      return { rows: { ...rows }, job: job && { ...job } };
    },
    close: () => sql.end(),
  };
}
