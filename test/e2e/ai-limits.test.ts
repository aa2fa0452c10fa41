import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openSurvey } from '../support/ai-fixture.ts';
import { type AiProviderServer, type SeenCall, startAiProvider } from '../support/ai-provider.ts';
import { adminClient, type Client } from '../support/client.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { eventually } from '../support/eventually.ts';
import { signInNewUser } from '../support/new-user.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { assertWithin } from '../support/time-bars.ts';

/** A survey to order, or how answers feel. */
function answered({ user }: SeenCall) {
  const { questionCount, answers } = JSON.parse(user[0] ?? '{}');
  if (answers) return { answers: answers.map(({ n }: { n: number }) => ({ n, sentiment: 'neutral' })) };
  return {
    title: 'Lunch',
    description: null,
    sections: [],
    questions: Array.from({ length: questionCount }, (_, n) => draftQuestion('NPS', `Question ${n}`)),
  };
}

/** How long a request for work waits for its end. */
const patienceMs = 20_000;

describe('limits and usage of AI providers', () => {
  let ai: AiProviderServer;
  let services: RunningService[] = [];
  let clients: Client[] = [];
  before(async () => {
    await sharedStores();
    ai = await startAiProvider();
    const env = {
      ...ai.env,
      AI_CACHE_ENABLED: 'false',
      AI_BATCH_SIZE: '1',
      AI_BATCH_DELAY_MS: '0',
      OPENAI_RPM: '3',
      ANTHROPIC_RPM: '1',
      AZURE_OPENAI_RPM: '20',
      GEMINI_TPM: '12000',
      OPENAI_MODEL_HIGH: 'gpt-4.1',
      GEMINI_MODEL_HIGH: 'gemini-3.1-pro-preview',
    };
    services = [await startService({ env }), await startService({ env })];
    clients = await Promise.all(services.map(adminClient));
  });
  after(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await ai?.close();
  });
  const callsOf = (provider: SeenCall['wire']) => ai.calls.filter(({ wire }) => wire === provider).length;
  const generate = (client: Client | undefined, provider: string) =>
    client?.call('POST', '/ai/generate-survey', {
      body: { prompt: `About ${Math.random()}`, questionCount: 5, provider },
    });

  it('all processes together stay within the calls a minute; further calls get AI_RATE_LIMITED with Retry-After', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) => clients[n % 2]?.call('POST', '/ai/settings/openai/test')),
    );
    assert.equal(ai.calls.length, 3);
    [ai.calls.length, ai.answer] = [0, answered];
    const refused = replies.filter((reply) => reply?.status === 503);
    assert.deepEqual([replies.filter((reply) => reply?.status === 200).length, refused.length], [3, 5]);
    for (const reply of refused) {
      assert.equal(reply?.body.code, 'AI_RATE_LIMITED');
      const seconds = Number(reply?.headers.get('retry-after'));
      assert.ok(seconds > 30 && seconds <= 61, `${seconds}`);
    }
  });

  it('tokens count too, as reserved first and as used after the reply', async () => {
    const replies = [];
    for (let n = 0; n < 3; n += 1) replies.push((await generate(clients[n % 2], 'gemini'))?.status);
    assert.deepEqual(replies, [200, 200, 200], 'one after the other they take 150 each');
  });

  // Each has a provider of its own.
  describe('AI providers at their limit', { concurrency: true }, () => {
    it('a generation waits behind a 202, and equal requests of one user share a job', async () => {
      const body = { prompt: 'Canteen', questionCount: 5, provider: 'openai' };
      const askedAt = performance.now();
      const [first, second] = await Promise.all(
        clients.map((client) => client.call('POST', '/ai/generate-survey', { body })),
      );
      assert.deepEqual([first?.status, second?.status, callsOf('openai')], [202, 202, 0], JSON.stringify(first?.body));
      assertWithin(patienceMs, performance.now() - askedAt, 'the 202');
      const jobId = first?.body.data.jobId;
      assert.equal(second?.body.data.jobId, jobId);
      assert.deepEqual(await clients[0]?.get(`/ai/jobs/${jobId}`), {
        id: jobId,
        jobId,
        status: 'RUNNING',
        progress: 0,
        result: null,
        error: null,
      });
      assert.equal((await clients[1]?.remove(`/ai/jobs/${jobId}`))?.status, 'CANCELLED');
    });

    it('an analysis is delayed instead of failing, and its reply comes at once', async () => {
      const [client] = clients;
      assert.ok(client);
      const { id } = await openSurvey(client, ['one', 'two']);
      const askedAt = performance.now();
      const reply = await client.call('POST', `/ai/surveys/${id}/analyze`, {
        body: { analysisType: 'sentiment', provider: 'anthropic' },
      });
      assertWithin(patienceMs, performance.now() - askedAt, 'the 202');
      assert.deepEqual([reply.status, reply.body.data.status], [202, 'RUNNING'], JSON.stringify(reply.body));
      assert.equal(callsOf('anthropic'), 1);
      assert.equal((await client.remove(`/ai/jobs/${reply.body.data.jobId}`)).status, 'CANCELLED');
      const usage = await client.get(`/ai/usage?surveyId=${id}`);
      assert.deepEqual(
        [usage.calls, usage.inputTokens, usage.outputTokens, usage.byTask.map(({ task }: { task: string }) => task)],
        [1, 100, 50, ['sentiment']],
      );
    });

    it('an analysis leaves a part of the limits to other calls', async () => {
      const [client] = clients;
      assert.ok(client);
      const { id } = await openSurvey(
        client,
        Array.from({ length: 18 }, (_, n) => `answer ${n}`),
      );
      assert.equal((await generate(client, 'azure'))?.status, 200);
      const reply = await client.call('POST', `/ai/surveys/${id}/analyze`, {
        body: { analysisType: 'sentiment', provider: 'azure' },
      });
      assert.equal(reply.status, 202, JSON.stringify(reply.body));
      await eventually(() => assert.equal(callsOf('azure'), 16, 'four fifths of the minute, with the call before it'));
      assert.equal((await generate(client, 'azure'))?.status, 200);
      assert.equal((await client.remove(`/ai/jobs/${reply.body.data.jobId}`)).status, 'CANCELLED');
    });
  });

  it('jobs that wait for one provider do not hold up those of another', async () => {
    ai.faultOf = ({ wire }) => (wire === 'anthropic' ? { status: 429, headers: { 'retry-after': '300' } } : undefined);
    const [[client], [service]] = [clients, services];
    assert.ok(client && service);
    // One user may not have as many.
    const askers = [client, await signInNewUser(service, client)];
    const waiting = await Promise.all(Array.from({ length: 24 }, (_, n) => generate(askers[n % 2], 'anthropic')));
    ai.faultOf = undefined;
    assert.deepEqual(new Set(waiting.map((reply) => reply?.status)), new Set([202]));
    const askedAt = performance.now();
    assert.equal((await generate(clients[0], 'azure'))?.status, 200);
    assertWithin(patienceMs, performance.now() - askedAt, 'the other provider');
    for (const [n, reply] of waiting.entries()) await askers[n % 2]?.remove(`/ai/jobs/${reply?.body.data.jobId}`);
  });

  it('usage is summed by model, task and day; users see their own, an ADMIN all', async () => {
    const [[client], [service]] = [clients, services];
    assert.ok(client && service);
    const editor = await signInNewUser(service, client);
    const mine = async (query = '') => (await editor.call('GET', `/ai/usage${query}`)).body;
    assert.equal((await mine()).data.calls, 0);
    const today = () => new Date().toISOString().slice(0, 10);
    const began = today();
    const ask = (provider: string) =>
      editor.call('POST', '/ai/generate-survey', {
        body: { prompt: `About ${Math.random()}`, questionCount: 5, provider },
      });
    assert.equal((await ask('gemini')).status, 200);
    assert.equal((await ask('azure')).status, 200);
    ai.faults.push({ status: 500 });
    assert.equal((await ask('azure')).status, 502);
    const { data } = await mine();
    const cost = Number(((100 * 2 + 50 * 12) / 1e6).toFixed(8));
    assert.deepEqual(
      [data.calls, data.failedCalls, data.inputTokens, data.outputTokens, data.costUsd, data.unpricedCalls],
      [3, 1, 200, 100, cost, 2],
    );
    assert.deepEqual(
      data.byModel.map(({ provider, model, calls, costUsd }: any) => [provider, model, calls, costUsd]),
      [
        ['gemini', 'gemini-3.1-pro-preview', 1, cost],
        ['azure', 'dep1', 2, null],
      ],
    );
    // A midnight may lie between them.
    assert.ok(
      data.byDay.every(({ day }: any) => day >= began && day <= today()),
      JSON.stringify(data.byDay),
    );
    assert.equal(
      data.byDay.reduce((sum: number, { calls }: any) => sum + calls, 0),
      3,
    );
    assert.equal((await mine('?provider=azure')).data.calls, 2);
    assert.equal((await mine('?startDate=2020-01-01&endDate=2020-12-31')).data.calls, 0);
    const adminId = (await client.get('/auth/me')).id;
    assert.equal((await mine(`?userId=${adminId}`)).code, 'FORBIDDEN');
    assert.equal((await client.get(`/ai/usage?userId=${editor.id}`)).calls, 3);
    assert.ok((await client.get('/ai/usage')).calls > 3);
  });

  it('a provider that asks for a pause gets one, while callers have a 202 at once', async () => {
    const [client] = clients;
    assert.ok(client);
    ai.faults.push({ status: 429, headers: { 'retry-after': '60' } });
    const askedAt = performance.now();
    const reply = await generate(client, 'azure');
    assertWithin(patienceMs, performance.now() - askedAt, 'the 202');
    assert.deepEqual([reply?.status, reply?.body.data.status], [202, 'RUNNING'], JSON.stringify(reply?.body));
    assert.equal((await client.remove(`/ai/jobs/${reply?.body.data.jobId}`)).status, 'CANCELLED');
  });
});
