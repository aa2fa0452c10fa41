import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { type EmbeddedStores, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { type AiProviderServer, type SeenCall, startAiProvider } from '../support/ai-provider.ts';
import { resultOfWork } from '../support/ai-work.ts';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';

const answers = 60;
const batch = 5;
const textsOf = ({ user }: SeenCall): string[] =>
  JSON.parse(user[0] ?? '{}').answers.map(({ text }: { text: string }) => text);

describe('AI work through kill -9', () => {
  const dataDir = temporaryDataDir();
  let stores: EmbeddedStores;
  let ai: AiProviderServer;
  let service: RunningService;
  let client: Client;
  /** So that work is under way when the service is killed, on a slow machine too: such calls get no reply before. */
  const killDuring = async (isHeld: (call: SeenCall) => boolean, heldCalls: number, asked: Promise<unknown>) => {
    let held = 0;
    ai.faultOf = (call) => {
      if (!isHeld(call)) return undefined;
      held += 1;
      return { hang: true };
    };
    await eventually(() => assert.ok(held >= heldCalls), 60_000);
    await service.kill();
    ai.faultOf = undefined;
    await asked;
  };
  const start = async () => {
    const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = stores;
    const urls = {
      REDIS_URL: redisUrl,
      REDIS_JOBS_URL: redisJobsUrl,
      DATABASE_URL: databaseUrl,
      CLICKHOUSE_URL: clickhouseUrl,
    };
    service = await startService({
      dataDir,
      env: {
        ...urls,
        ...ai.env,
        AI_BATCH_SIZE: String(batch),
        AI_BATCH_DELAY_MS: '0',
        AI_CACHE_ENABLED: 'false',
        OPENAI_RPM: '10000',
        OPENAI_TPM: '100000000',
      },
    });
    client = await adminClient(service);
  };
  before(async () => {
    stores = await startEmbeddedStores({
      dataDir,
      needed: { redis: true, redisJobs: true, postgres: true, clickhouse: true },
      log: createLog('error'),
      env: process.env,
    });
    ai = await startAiProvider();
    ai.delayMs = 200;
    ai.answer = ({ user }) => {
      const { answers: given, strings, to } = JSON.parse(user[0] ?? '{}');
      if (strings)
        return { strings: strings.map(({ n, text }: { n: number; text: string }) => ({ n, text: `${to}: ${text}` })) };
      return { answers: given.map(({ n }: { n: number }) => ({ n, sentiment: 'positive' })) };
    };
    await start();
  });
  after(async () => {
    await service?.stop();
    await ai?.close();
    await stores?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('an analysis resumes by itself and sends no stored answers again', async () => {
    const { id } = await client.create('/surveys', { title: 'Canteen', status: 'ACTIVE' });
    const question = await client.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'What do you think?' });
    for (let n = 0; n < answers; n += 1)
      await client.submit(id, { answers: [{ questionId: question.id, textValue: `answer ${n}` }] });
    const asked = client
      .call('POST', `/ai/surveys/${id}/analyze`, { body: { analysisType: 'sentiment', provider: 'openai' } })
      .catch(() => undefined);
    await killDuring(() => ai.calls.length >= 4, 1, asked);
    const before = ai.calls.length;
    await start();
    const done = await eventually(async () => {
      const reply = await client.call('POST', `/ai/surveys/${id}/analyze`, {
        body: { analysisType: 'sentiment', provider: 'openai' },
      });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      return reply.body.data;
    }, 90_000);
    assert.equal(done.sentiment.positive, answers);
    const sent = ai.calls.flatMap(textsOf);
    const twice = sent.filter((text, index) => sent.indexOf(text) !== index);
    const underWay = new Set(textsOf(ai.calls[before - 1] as SeenCall));
    assert.deepEqual(
      twice.filter((text) => !underWay.has(text)),
      [],
      'only what was under way goes out again',
    );
    assert.equal(new Set(sent).size, answers);
  });

  it('an analysis runs once for concurrent requests', async () => {
    const { id } = await client.create('/surveys', { title: 'Canteen', status: 'ACTIVE' });
    const question = await client.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'What do you think?' });
    await client.submit(id, { answers: [{ questionId: question.id, textValue: 'good' }] });
    const before = ai.calls.length;
    const results = await Promise.all(
      Array.from({ length: 20 }, () =>
        resultOfWork(client, `/ai/surveys/${id}/analyze`, { analysisType: 'sentiment', provider: 'openai' }),
      ),
    );
    assert.deepEqual(
      results.map(({ sentiment }) => sentiment.positive),
      results.map(() => 1),
    );
    assert.equal(ai.calls.length - before, 1);
  });

  it('an analysis merges its remaining themes without repeating a decision', async () => {
    const { id } = await client.create('/surveys', { title: 'Canteen', status: 'ACTIVE' });
    const question = await client.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'What do you think?' });
    // Names enough for three calls; the last two mean what the first does.
    const names = Array.from(
      { length: 240 },
      (_, n) => `Topic ${String.fromCharCode(97 + Math.floor(n / 26), 97 + (n % 26))}`,
    );
    for (let n = 0; n < names.length; n += 3)
      await client.submit(id, { answers: [{ questionId: question.id, textValue: names.slice(n, n + 3).join('|') }] });
    const plain = ai.answer;
    const namesOf = ({ user }: SeenCall): string[] =>
      JSON.parse(user[0] ?? '{}').themes.map(({ name }: { name: string }) => name);
    const isMerge = ({ schema }: SeenCall): boolean => 'same' in schema.properties;
    ai.calls.length = 0;
    ai.answer = (call) => {
      if (!isMerge(call))
        return {
          answers: JSON.parse(call.user[0] ?? '{}').answers.map(({ n, text }: any) => ({
            n,
            sentiment: 'neutral',
            themes: text.split('|'),
          })),
        };
      const [first, ...same] = [names[0], names[238], names[239]]
        .map((name) => namesOf(call).indexOf(name ?? '') + 1)
        .filter((n) => n > 0);
      return { same: same.map((n) => ({ n, as: first })) };
    };
    const analyse = () =>
      client.call('POST', `/ai/surveys/${id}/analyze`, { body: { analysisType: 'themes', provider: 'openai' } });
    const asked = analyse().catch(() => undefined);
    await killDuring((call) => isMerge(call) && ai.calls.filter(isMerge).length === 2, 1, asked);
    await start();
    const { themes } = await eventually(async () => {
      const reply = await analyse();
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      return reply.body.data;
    }, 90_000);
    ai.answer = plain;
    assert.deepEqual([themes[0].name, themes[0].count], [names[0], 2], 'of three names two stand in one answer');
    const merges = ai.calls.filter(isMerge).map(namesOf);
    assert.equal(merges.length, 4, 'the second went out again, the first did not');
    assert.deepEqual(merges[2]?.slice().sort(), merges[1]?.slice().sort());
    assert.equal(ai.calls.length - merges.length, names.length / 3 / batch, 'no answer went out again');
  });

  it('a translation resumes by itself with the texts that are not stored', async () => {
    const { id } = await client.create('/surveys', { title: 'Canteen' });
    const languages = ['es', 'fr', 'de', 'it', 'pt', 'nl', 'pl', 'ru', 'ja', 'ko', 'ar', 'he'];
    ai.calls.length = 0;
    const sent = () => ai.calls.map(({ user }) => String(JSON.parse(user[0] ?? '{}').to));
    const asked = client
      .call('POST', `/ai/surveys/${id}/translate`, { body: { languages, provider: 'openai' } })
      .catch(() => undefined);
    await killDuring(() => ai.calls.length > 4, 4, asked);
    const before = sent();
    await start();
    await eventually(
      async () =>
        assert.deepEqual(
          (await client.get(`/surveys/${id}/translations`))
            .filter(({ language }: any) => language !== 'en')
            .map(({ language }: any) => language)
            .sort(),
          [...languages].sort(),
        ),
      60_000,
    );
    assert.deepEqual([...new Set(sent())].sort(), [...languages].sort());
    const underWay = new Set(before.slice(-4));
    assert.deepEqual(
      sent().filter((to, at, all) => all.indexOf(to) !== at && !underWay.has(to)),
      [],
      'only what was under way goes out again',
    );
  });
});
