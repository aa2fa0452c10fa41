import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { liveServerMessageSchema } from '../../src/http/schemas/live.ts';
import { type AiProviderServer, startAiProvider } from '../support/ai-provider.ts';
import { callForWork, resultOfWork } from '../support/ai-work.ts';
import { adminClient, type Client } from '../support/client.ts';
import { finishedExport } from '../support/exports.ts';
import { type LiveSocket, type Message, openEvents, openLive } from '../support/live-client.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';
import { type SharedStores, sharedStores } from '../support/stores.ts';

describe('the jobs channel of a live stream', () => {
  let stores: SharedStores;
  let service: RunningService;
  let ai: AiProviderServer;
  let admin: Client;
  let token: string;
  let live: LiveSocket;
  before(async () => {
    stores = await sharedStores();
    ai = await startAiProvider();
    ai.answer = (call) => ({
      answers: (JSON.parse(call.user[0] ?? '{}').answers as { n: number }[]).map(({ n }) => ({
        n,
        sentiment: 'neutral',
      })),
    });
    service = await startService({ env: { ...ai.env, AI_BATCH_SIZE: '10', AI_BATCH_DELAY_MS: '0' } });
    admin = await adminClient(service);
    token = (await admin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } })).body
      .data.accessToken;
    live = await openLive(service, token);
  });
  after(async () => {
    live?.socket.terminate();
    await service?.stop();
    await ai?.close();
    await stores?.stop();
  });

  const openSurvey = async (answers: number): Promise<string> => {
    const { id } = await admin.create('/surveys', { title: 'Canteen', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'What do you think?' });
    for (let n = 0; n < answers; n += 1)
      await admin.submit(id, { answers: [{ questionId: question.id, textValue: `answer ${n}` }] });
    return id;
  };
  const jobsOf = (surveyId: string, kind: string) =>
    live.messages.filter(
      (message) => message.type === 'job' && message['surveyId'] === surveyId && message['kind'] === kind,
    );
  const isRising = (messages: readonly Message[]) =>
    messages.every((message, index) => index === 0 || message['progress'] >= messages[index - 1]?.['progress']);

  it('reports the progress of an export until its file is ready', async () => {
    const surveyId = await openSurvey(5);
    live.send({ type: 'subscribe', surveyId, channels: ['jobs'] });
    const events = await openEvents(`${service.base}/surveys/${surveyId}/live?channels=jobs`, token);
    await events.next('subscribed');
    await live.next('subscribed', (message) => message['surveyId'] === surveyId);
    const { exportId } = (await admin.call('POST', `/exports/surveys/${surveyId}`, { body: { format: 'CSV' } })).body
      .data;
    assert.equal((await finishedExport(admin, exportId)).status, 'COMPLETED');
    await live.next('job', ({ id, status }) => id === exportId && status === 'COMPLETED');
    await events.next('job', ({ id, status }) => id === exportId && status === 'COMPLETED');
    const jobs = jobsOf(surveyId, 'export');
    assert.deepEqual([jobs[0]?.['status'], jobs.at(-1)?.['progress']], ['PROCESSING', 1]);
    assert.ok(isRising(jobs));
    for (const message of jobs) assert.ok(liveServerMessageSchema.safeParse(message).success, JSON.stringify(message));
    events.close();
  });

  it('reports the progress and the end of an AI analysis', async () => {
    const surveyId = await openSurvey(25);
    live.send({ type: 'subscribe', surveyId, channels: ['jobs'] });
    await live.next('subscribed', (message) => message['surveyId'] === surveyId);
    await resultOfWork(admin, `/ai/surveys/${surveyId}/analyze`, { analysisType: 'sentiment' });
    await live.next('job', (message) => message['surveyId'] === surveyId && message['status'] === 'COMPLETED');
    const jobs = jobsOf(surveyId, 'ai');
    assert.ok(
      jobs.some(({ status, progress }) => status === 'RUNNING' && progress > 0 && progress < 1),
      JSON.stringify(jobs),
    );
    assert.equal(jobs.at(-1)?.['progress'], 1);
    assert.ok(isRising(jobs));

    ai.answer = () => 'no JSON that could be read';
    await admin.submit(surveyId, {
      answers: [{ questionId: (await admin.get(`/surveys/${surveyId}`)).questions[0].id, textValue: 'one more' }],
    });
    assert.ok(
      (await callForWork(admin, `/ai/surveys/${surveyId}/analyze`, { analysisType: 'sentiment' })).status >= 400,
    );
    await live.next('job', (message) => message['surveyId'] === surveyId && message['status'] === 'FAILED');
  });
});
