import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type AiProvider,
  type Feature,
  features,
  goodReply,
  openAiTables,
  type Stage,
  setStage,
} from '../support/ai-features.ts';
import { type AiFixture, aiProviders, endedJob, startAiFixture } from '../support/ai-fixture.ts';
import { type Fault, type SeenCall, standInKey } from '../support/ai-provider.ts';
import { type Trouble, troubles } from '../support/ai-troubles.ts';
import { assertConforms } from '../support/conform.ts';
import { eventually } from '../support/eventually.ts';

/** Three answers: all, one, two, and those one by one. */
const asksUntilSingle = 5;

describe('AI providers', () => {
  let scene: AiFixture;
  let tables: Awaited<ReturnType<typeof openAiTables>>;
  const stages = {} as Record<AiProvider, Stage>;
  /** The next failure of each provider. */
  const script: Record<AiProvider, (Fault | undefined)[]> = { openai: [], anthropic: [], gemini: [], azure: [] };
  const calls: Record<AiProvider, (SeenCall & { at: number })[]> = { openai: [], anthropic: [], gemini: [], azure: [] };

  before(async () => {
    // Replies that shall come in time have no longer either.
    scene = await startAiFixture({ AI_CALL_TIMEOUT_SECONDS: '4', AI_RETRY_SCHEDULE_SECONDS: '0' });
    tables = await openAiTables();
    scene.ai.answer = goodReply;
    for (const provider of aiProviders) stages[provider] = await setStage(scene, provider);
    scene.ai.faultOf = (call) => {
      calls[call.wire].push({ ...call, at: performance.now() });
      return script[call.wire].shift();
    };
  });
  after(async () => {
    await tables?.close();
    await scene?.stop();
  });

  const used = async ({ client }: Stage) => {
    const { calls: all, failedCalls } = await client.get('/ai/usage');
    return { all, failedCalls };
  };

  async function assertTrouble(
    stage: Stage,
    feature: Feature,
    { what, fault, code, calls: once = 1, failed: failedOnce = 1, isPassing = false, verdict }: Trouble,
  ): Promise<void> {
    const { provider } = stage;
    // If some answers of a batch are refused, the others get annotations: see below.
    if (feature.isBulk && verdict === 'refused') return;
    const asks = !feature.isBulk ? 1 : isPassing ? 2 : verdict === 'unfit' ? asksUntilSingle : 1;
    const [times, failed] = [once * asks, failedOnce * asks];
    const where = `${provider}, ${feature.name}: ${what}`;
    const [stored, usage] = [await tables.of(stage), await used(stage)];
    calls[provider].length = 0;
    script[provider] = Array.from({ length: times }, () => fault(provider));
    const reply = await feature.ask(stage);
    assert.deepEqual(
      [reply.status, reply.body.code],
      [502, code],
      `${where}: ${JSON.stringify(reply.body)} ${scene.ai.strays.join()}`,
    );
    assertConforms(feature.route, reply);
    assert.ok(!JSON.stringify(reply.body).includes(standInKey), where);
    assert.equal(
      calls[provider].length,
      times,
      `${where}: ${calls[provider].map(({ at, user }) => `${at} ${user.join()}`).join('\n')}`,
    );
    const left = await tables.of(stage);
    assert.deepEqual(left.rows, stored.rows, `${where} left something behind`);
    if (feature.isJob) assert.deepEqual(left.job, { status: 'FAILED', code }, where);
    assert.deepEqual(
      await used(stage),
      { all: usage.all + times, failedCalls: usage.failedCalls + failed },
      `${where}: usage`,
    );
  }

  describe('failures of AI providers', { concurrency: aiProviders.length }, () => {
    for (const [index, provider] of aiProviders.entries())
      it(`every failure of ${provider} gives one code, stores nothing by half, and is counted once`, async () => {
        // Each feature meets every kind of failure with one provider or another.
        for (const [turn, trouble] of troubles.entries())
          await assertTrouble(stages[provider], features[(turn + index * 2) % features.length] as Feature, trouble);
      });
  });

  for (const feature of features)
    it(`failures, refusals and invalid replies are handled alike by: ${feature.name}`, async () => {
      const some = troubles.filter(({ what }) => ['a breakdown', 'a refusal', 'JSON of another form'].includes(what));
      await Promise.all(
        aiProviders.map(async (provider) => {
          for (const trouble of some) await assertTrouble(stages[provider], feature, trouble);
        }),
      );
    });

  it('an endless reply is cut off long before the memory is full', () => {
    assert.ok(scene.ai.floodedBytes < 64 * 1024 ** 2, `${scene.ai.floodedBytes} bytes were taken of four gigabytes`);
  });

  it('a redirect of a provider never receives the key', async () => {
    for (const provider of aiProviders)
      for (const status of [301, 302, 307, 308])
        await assertTrouble(stages[provider], features[3] as Feature, {
          what: `redirect ${status}`,
          code: 'AI_PROVIDER_ERROR',
          fault: () => ({ status, headers: { location: `${scene.ai.url}/inside` } }),
        });
    assert.deepEqual(scene.ai.strays, []);
  });

  /** How providers say when to come back: half a second before this time, which is rounded up. */
  const waits = (seconds: number): Record<AiProvider, Fault> => {
    const headers = { 'retry-after': String(seconds), 'retry-after-ms': String(seconds * 1000 - 500) };
    return {
      openai: { status: 429, headers: { 'retry-after-ms': headers['retry-after-ms'] } },
      azure: { status: 429, headers },
      anthropic: { status: 429, headers: { 'retry-after': headers['retry-after'] } },
      gemini: {
        status: 429,
        body: [
          {
            error: {
              code: 429,
              message: `You exceeded your current quota. Please retry in ${seconds - 0.5}s.`,
              status: 'RESOURCE_EXHAUSTED',
            },
          },
        ],
      },
    };
  };

  it('a job waits as long as the provider asks', async () => {
    // So long that a busy machine sees it wait: the reply to a job that waited unseen has its result.
    const seconds = 6;
    await Promise.all(
      aiProviders.map(async (provider) => {
        calls[provider].length = 0;
        script[provider] = [waits(seconds)[provider]];
        const reply = await (features[3] as Feature).ask(stages[provider]);
        assert.equal(reply.status, 202, `${provider}: ${JSON.stringify(reply.body)}`);
        await endedJob(stages[provider].client, reply.body.data.jobId);
        const [first, second] = calls[provider];
        const waitedMs = (second?.at ?? 0) - (first?.at ?? 0);
        assert.ok(
          calls[provider].length === 2 && waitedMs > seconds * 1000 - 600 && waitedMs < 30_000,
          `${provider}: ${calls[provider].length} calls, ${waitedMs} ms apart`,
        );
      }),
    );
  });

  it('a provider at its limit gives AI_RATE_LIMITED with Retry-After to waiting callers, and is not called before that', async () => {
    await Promise.all(
      aiProviders.map(async (provider) => {
        const stage = stages[provider];
        calls[provider].length = 0;
        script[provider] = [waits(2)[provider]];
        const begin = features[1] as Feature;
        const reply = await begin.ask(stage);
        assert.deepEqual(
          [reply.status, reply.body.code, reply.headers.get('retry-after')],
          [503, 'AI_RATE_LIMITED', '2'],
          `${provider}: ${JSON.stringify(reply.body)}`,
        );
        assert.equal((await begin.ask(stage)).status, 201);
        const [first, second] = calls[provider];
        assert.ok((second?.at ?? 0) - (first?.at ?? 0) > 1400, `${provider} was called while it rested`);
      }),
    );
  });

  it('one failed call does not end an analysis', async () => {
    const sentiment = features.find(({ name }) => name === 'sentiment') as Feature;
    await Promise.all(
      aiProviders.map(async (provider) => {
        const stage = await setStage(scene, provider);
        script[provider] = [{ cut: 'chunks' }];
        const reply = await sentiment.ask(stage);
        assert.equal(reply.status, 200, `${provider}: ${JSON.stringify(reply.body)}`);
        sentiment.check(reply.body.data, stage);
        assert.deepEqual(await used(stage), { all: 3, failedCalls: 1 }, provider);
      }),
    );
  });

  it('after an invalid reply the provider is asked again with the error', async () => {
    await Promise.all(
      aiProviders.map(async (provider) => {
        for (const text of ['Sure! {"title"', '{"answers":[]}', '', 'la '.repeat(400_000)]) {
          calls[provider].length = 0;
          script[provider] = [{ text }];
          const feature = features[0] as Feature;
          const reply = await feature.ask(stages[provider]);
          assert.equal(reply.status, 200, `${provider}: ${JSON.stringify(reply.body)}`);
          feature.check(reply.body.data, stages[provider]);
          assert.deepEqual(
            [calls[provider].length, JSON.parse(calls[provider][1]?.user.at(-1) ?? '{}').mistakes.length > 0],
            [2, true],
            provider,
          );
          assert.ok((calls[provider][1]?.raw.length ?? 0) < 150_000, 'what is paid for twice has bounds');
        }
      }),
    );
  });

  it('counts in replies are computed again, not taken from the provider', async () => {
    const text = '{"suggestions":[]}';
    const usages = [
      { prompt_tokens: '1e9', completion_tokens: -5, total_tokens: null, input_tokens: '1e9', output_tokens: -5 },
      { prompt_tokens: 1e300, completion_tokens: 0.5, input_tokens: 1e300, output_tokens: 0.5 },
      'many',
      null,
    ];
    for (const provider of aiProviders)
      for (const usage of usages) {
        const stage = stages[provider];
        const before = await stage.client.get('/ai/usage');
        script[provider] = [
          {
            status: 200,
            body: {
              usage,
              content: [{ type: 'text', text }],
              stop_reason: 'end_turn',
              choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }],
            },
          },
        ];
        const reply = await (features[3] as Feature).ask(stage);
        assert.equal(reply.status, 200, `${provider}: ${JSON.stringify(reply.body)}`);
        const now = await stage.client.get('/ai/usage');
        assert.deepEqual(
          [now.calls, now.inputTokens, now.outputTokens],
          [before.calls + 1, before.inputTokens, before.outputTokens],
          `${provider}: ${JSON.stringify(usage)}`,
        );
      }
  });

  for (const provider of aiProviders)
    it(`every feature works after the failures: ${provider}`, async () => {
      for (const feature of features) {
        calls[provider].length = 0;
        const reply = await feature.ask(stages[provider]);
        assert.ok([200, 201].includes(reply.status), `${feature.name}: ${JSON.stringify(reply.body)}`);
        assertConforms(feature.route, reply);
        feature.check(reply.body.data, stages[provider]);
        assert.ok(calls[provider].length > 0, feature.name);
      }
    });

  it('a refused batch is halved until only the refused answers are left out', async () => {
    const feature = features.find(({ name }) => name === 'sentiment');
    assert.ok(feature?.isBulk);
    for (const trouble of troubles.filter(({ verdict }) => verdict === 'refused').slice(0, 1))
      await Promise.all(
        aiProviders.map(async (provider) => {
          const stage = await setStage(scene, provider);
          const before = await used(stage);
          calls[provider].length = 0;
          // All of them, and after the other two the one by itself.
          script[provider] = [trouble.fault(provider), undefined, trouble.fault(provider)];
          const reply = await feature.ask(stage);
          assert.equal(reply.status, 200, `${provider}: ${JSON.stringify(reply.body)}`);
          assertConforms(feature.route, reply);
          const { sentiment, unjudged, perResponse } = reply.body.data;
          assert.deepEqual(
            [
              unjudged,
              perResponse.length,
              sentiment.positive + sentiment.negative + sentiment.neutral + sentiment.mixed,
            ],
            [1, 2, 2],
            provider,
          );
          assert.deepEqual(
            [calls[provider].length, await used(stage)],
            [3, { all: before.all + 3, failedCalls: before.failedCalls + 2 }],
            provider,
          );
        }),
      );
  });

  it('the log holds neither keys nor internal errors', async () => {
    assert.deepEqual(scene.ai.strays, []);
    const lines = scene.service.logs().split('\n');
    assert.deepEqual(
      lines.filter((line) => line.includes(standInKey) || /Incorrect API key|hotel|"level":[56]0/.test(line)),
      [],
    );
    // Half a second is not always enough for a busy disk.
    await eventually(async () => assert.equal((await fetch(`${scene.service.origin}/health/ready`)).status, 200));
  });
});
