import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startAiProvider, type AiProviderServer, type SeenCall } from '../support/ai-provider.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startService, type RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

/** Does what each kind of work asks for. */
function done({ user, schema }: SeenCall): unknown {
  const data = JSON.parse(user[0] ?? '{}');
  if (schema.properties.strings) return { strings: data.strings.map(({ n, text }: any) => ({ n, text: `${data.to}: ${text}` })) };
  if (schema.properties.suggestions) return { suggestions: [{ aspect: 'clarity', problem: 'Unclear', text: 'How was lunch?', options: [] }] };
  if (schema.properties.message) return { message: 'Here it is', ...written };
  return { title: 'What guests think', sections: [{ heading: 'Lunch', text: 'It was eaten.', questions: [1] }], ...(schema.properties.recommendations && { recommendations: ['More soup'] }) };
}

const written = {
  title: 'Lunch', description: null,
  questions: Array.from({ length: 5 }, (_, n) => ({ type: 'NPS', text: `Question ${n}`, description: null, isRequired: false, options: [], rows: [], min: null, max: null, step: null })),
};

describe('translations, reports and suggestions that take long', () => {
  let service: RunningService;
  let ai: AiProviderServer;
  let admin: Client;
  let id: string;
  let questionId: string;
  let work: [path: string, body: object][];

  before(async () => {
    await sharedStores();
    ai = await startAiProvider();
    service = await startService({ env: { ...ai.env, AI_CACHE_ENABLED: 'false' } });
    admin = await adminClient(service);
    ({ id } = await admin.create('/surveys', { title: 'Lunch', status: 'ACTIVE' }));
    questionId = (await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'How is lunch?' })).id;
    await admin.submit(id, { answers: [{ questionId, textValue: 'Good' }] });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 1));
    work = [[`/ai/surveys/${id}/translate`, { languages: ['de', 'he'] }], [`/ai/surveys/${id}/report`, {}], [`/ai/questions/${questionId}/optimize`, {}]];
  });
  after(async () => {
    await service?.stop();
    await ai?.close();
  });
  beforeEach(() => {
    ai.calls.length = 0;
    ai.delayMs = 0;
    ai.answer = done;
  });

  it('go on behind a 202, equal ones as one, and are there under the job', async () => {
    ai.delayMs = 21_000;
    const ask = () => Promise.all(work.map(([path, body]) => admin.call('POST', path, { body })));
    const [replies, equal] = await Promise.all([ask(), ask()]);
    assert.deepEqual([...replies, ...equal].map(({ status }) => status), [202, 202, 202, 202, 202, 202]);
    assert.deepEqual(equal.map(({ body }) => body.data.jobId), replies.map(({ body }) => body.data.jobId));
    const results = await eventually(async () => {
      const jobs = await Promise.all(replies.map(({ body }) => admin.get(`/ai/jobs/${body.data.jobId}`)));
      assert.deepEqual(jobs.map(({ status, progress }) => [status, progress]), [['COMPLETED', 1], ['COMPLETED', 1], ['COMPLETED', 1]]);
      return jobs.map(({ result }) => result);
    });
    assert.equal(ai.calls.length, 4, 'two languages, a report, a question');
    assert.deepEqual(results[0], { languages: ['de', 'he'], translations: [{ language: 'de', direction: 'ltr', translatedCount: 2 }, { language: 'he', direction: 'rtl', translatedCount: 2 }] });
    assert.equal((await admin.get(`/surveys/${id}/translations/he`)).title, 'he: Lunch');
    assert.equal(results[1].reportId, replies[1]?.body.data.jobId);
    assert.deepEqual(await admin.get(`/ai/surveys/${id}/reports/${results[1].reportId}`), results[1]);
    assert.deepEqual((await admin.get(`/ai/questions/${questionId}/suggestions`)).suggestions, results[2].suggestions);
  });

  it('count as calls about their survey by who asked, and conversations by who speaks', async () => {
    const made = await admin.create('/users', { email: `writer-${Date.now()}@example.org`, password: 'a good long password', role: 'ADMIN' });
    const token = (await admin.call('POST', '/auth/login', { token: undefined, body: { email: made.email, password: 'a good long password' } })).body.data.accessToken;
    const other = await admin.create('/surveys', { title: 'Dinner', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${other.id}/questions`, { type: 'LONG_TEXT', text: 'How is dinner?' });
    await admin.submit(other.id, { answers: [{ questionId: question.id, textValue: 'Good' }] });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${other.id}`)).totalResponses, 1));
    for (const [path, body] of work) {
      const reply = await admin.call('POST', path.replace(id, other.id).replace(questionId, question.id), { token, body });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
    }
    const { conversationId } = (await admin.call('POST', '/ai/conversations', { token, body: { prompt: 'Lunch', questionCount: 5 } })).body.data;
    assert.equal((await admin.call('POST', `/ai/conversations/${conversationId}/messages`, { token, body: { message: 'Shorter' } })).status, 200);
    const tasks = ({ byTask }: any) => Object.fromEntries(byTask.map(({ task, calls }: any) => [task, calls]));
    const ofSurvey = tasks(await admin.get(`/ai/usage?surveyId=${other.id}`));
    assert.deepEqual(Object.values(ofSurvey).sort(), [1, 1, 2], JSON.stringify(ofSurvey));
    const ofUser = tasks(await admin.get(`/ai/usage?userId=${made.id}`));
    assert.deepEqual(Object.values(ofUser).sort(), [1, 1, 2, 2], JSON.stringify(ofUser));
  });
});
