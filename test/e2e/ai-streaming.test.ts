import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AiFixture, aiProviders } from '../support/ai-fixture.ts';
import type { Fault, SeenCall } from '../support/ai-provider.ts';
import type { Client } from '../support/client.ts';
import { assertConforms } from '../support/conform.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { eventually } from '../support/eventually.ts';
import { openEvents } from '../support/live-client.ts';
import { signInNewUser } from '../support/new-user.ts';
import { useAi } from '../support/use-ai.ts';

const question = (text: string) => draftQuestion('YES_NO', text);
const message = 'Five "plain" questions – 完成 😀.\nShall I ask about the price, too?';
const draft = (said: string = message) => ({
  message: said,
  title: 'Lunch',
  description: null,
  sections: [],
  questions: [1, 2, 3, 4, 5].map((n) => question(`Question ${n}`)),
});
const unfit = { ...draft('Here is a draft without questions.'), questions: [] };
const accept = { accept: 'text/event-stream', 'content-type': 'application/json' };

type Told = Awaited<ReturnType<typeof openEvents>>;
const wordsOf = ({ events }: Pick<Told, 'events'>): string =>
  events
    .filter(({ event }) => event === 'text')
    .map(({ data }) => data.text)
    .join('');
const kindsOf = ({ events }: Told): (string | undefined)[] =>
  events.map(({ event }) => event).filter((kind, at, all) => kind !== all[at - 1]);

/** Each test has a user of its own, whose usage and conversations are its own. */
function stage(env: Record<string, string> = {}) {
  const scene = {} as { service: AiFixture['service']; ai: AiFixture['ai']; admin: Client };
  useAi(({ service, ai, admin }) => void Object.assign(scene, { service, ai, admin }), { env, answer: () => draft() });
  const enter = async () => {
    const client = await signInNewUser(scene.service, scene.admin);
    const tell = (path: string, body: object) =>
      openEvents(`${scene.service.base}${path}`, client.token ?? '', accept, body);
    return {
      client,
      tell,
      begin: (body: object = {}) =>
        tell('/ai/conversations', { prompt: 'About our canteen', questionCount: 5, ...body }),
      say: (id: string, text: string) => tell(`/ai/conversations/${id}/messages`, { message: text }),
      used: async () => {
        const { calls, failedCalls, inputTokens, outputTokens } = await client.get('/ai/usage');
        return { calls, failedCalls, inputTokens, outputTokens };
      },
    };
  };
  return { scene, enter };
}

describe('streamed turns of AI conversations', () => {
  const { scene, enter } = stage();

  for (const provider of aiProviders)
    it(`a turn of ${provider} is streamed word by word and ends with the usual reply`, async () => {
      const { begin, say, client, used } = await enter();
      let goOn = (): void => undefined;
      scene.ai.midway = new Promise((resolve) => {
        goOn = resolve;
      });
      const first = await begin({ provider });
      assert.deepEqual(
        [first.reply.status, first.reply.headers.get('content-type'), first.reply.headers.get('cache-control')],
        [200, 'text/event-stream; charset=utf-8', 'no-store'],
      );
      // The provider holds half of its reply back, in whose beginning stands what it says.
      await eventually(() => assert.equal(wordsOf(first), message));
      assert.deepEqual(kindsOf(first), ['text']);
      assert.ok(first.events.length > 5, 'the words came at once');
      goOn();
      await first.ended;
      assert.deepEqual(kindsOf(first), ['text', 'reply']);
      const { data: body } = first.events.at(-1) ?? {};
      assert.deepEqual([body.success, body.data.message, body.data.draft.questions.length], [true, message, 5]);
      assert.deepEqual(await client.get(`/ai/conversations/${body.data.conversationId}`), body.data);
      const second = await say(body.data.conversationId, 'And the price?');
      await second.ended;
      const { turns, ...next } = second.events.at(-1)?.data.data ?? {};
      assert.deepEqual(
        [wordsOf(second), { ...next, turns: turns.slice(0, 2) }],
        [message, { ...body.data, revision: 2 }],
      );
      assert.equal(turns.length, 4);
      assert.ok(scene.ai.calls.every(({ wire, isStream }: SeenCall) => wire === provider && isStream));
      assert.deepEqual(await used(), { calls: 2, failedCalls: 0, inputTokens: 200, outputTokens: 100 });
    });

  it('a client that does not accept events gets one JSON reply', async () => {
    const { client } = await enter();
    for (const header of [undefined, '*/*', 'application/json', 'text/plain;q=0.5, text/*'])
      assertConforms(
        'POST /ai/conversations',
        await client.call('POST', '/ai/conversations', {
          body: { prompt: 'About lunch', questionCount: 5 },
          ...(header !== undefined && { headers: { accept: header } }),
        }),
      );
    assert.ok(scene.ai.calls.every(({ isStream }) => !isStream));
  });

  it('streamed turns conform to the reference', async () => {
    const { client } = await enter();
    const begun = await client.call('POST', '/ai/conversations', {
      body: { prompt: 'About lunch', questionCount: 5 },
      headers: { accept: 'text/html, Text/Event-Stream;q=0.9' },
    });
    assertConforms('POST /ai/conversations', begun);
    assert.match(begun.body, /^event: text\ndata: \{"text":"/);
    const { data } = JSON.parse(/event: reply\ndata: (.*)\n\n$/.exec(begun.body)?.[1] ?? '');
    const path = `/ai/conversations/${data.conversationId}/messages`;
    assertConforms(
      'POST /ai/conversations/{id}/messages',
      await client.call('POST', path, { body: { message: 'More' }, headers: accept }),
    );
  });

  it('after an invalid reply the stream begins again, and two calls are counted', async () => {
    const { begin, used } = await enter();
    scene.ai.faults.push({ text: JSON.stringify(unfit) });
    const told = await begin();
    await told.ended;
    assert.deepEqual(kindsOf(told), ['text', 'restart', 'text', 'reply']);
    const at = told.events.findIndex(({ event }) => event === 'restart');
    assert.deepEqual(
      [wordsOf({ events: told.events.slice(0, at) }), wordsOf({ events: told.events.slice(at) })],
      [unfit.message, message],
    );
    assert.deepEqual(await used(), { calls: 2, failedCalls: 0, inputTokens: 200, outputTokens: 100 });
  });

  it('after a second invalid reply the stream ends with an error', async () => {
    const { begin, used } = await enter();
    scene.ai.answer = () => unfit;
    const told = await begin();
    await told.ended;
    assert.deepEqual(kindsOf(told), ['text', 'restart', 'text', 'error']);
    assert.deepEqual([told.events.at(-1)?.data.code, (await used()).calls], ['AI_PROVIDER_ERROR', 2]);
  });

  it('a turn is stored although the client disconnects', async () => {
    const { begin, say, client } = await enter();
    const first = await begin();
    await first.ended;
    const conversationId = first.events.at(-1)?.data.data.conversationId;
    let goOn = (): void => undefined;
    scene.ai.midway = new Promise((resolve) => {
      goOn = resolve;
    });
    scene.ai.answer = () => draft('Taken.');
    const left = await say(conversationId, 'And the price?');
    await left.next('text');
    left.close();
    goOn();
    await eventually(async () =>
      assert.equal((await client.get(`/ai/conversations/${conversationId}`)).message, 'Taken.'),
    );
  });

  it('of two concurrent streamed turns one is accepted', async () => {
    const { begin, say } = await enter();
    const first = await begin();
    await first.ended;
    const conversationId = first.events.at(-1)?.data.data.conversationId;
    let goOn = (): void => undefined;
    scene.ai.midway = new Promise((resolve) => {
      goOn = resolve;
    });
    const both = await Promise.all(['One', 'Two'].map((text) => say(conversationId, text)));
    goOn();
    await Promise.all(both.map(({ ended }) => ended));
    const ends = both
      .map(({ events }) => events.at(-1))
      .sort((a, b) => String(b?.event).localeCompare(String(a?.event)));
    assert.deepEqual(
      ends.map((end) => [end?.event, end?.data.details?.reason]),
      [
        ['reply', undefined],
        ['error', 'CONVERSATION_CHANGED'],
      ],
    );
  });

  it('each streamed turn has one audit event', async () => {
    const { begin, client } = await enter();
    await (await begin()).ended;
    const mine = async () =>
      (await scene.admin.get('/audit?limit=100')).filter(
        ({ actorId, action }: any) => actorId === client.id && action === 'ai.used',
      );
    await eventually(async () =>
      assert.deepEqual(
        (await mine()).map(({ details }: any) => details.call),
        ['POST /ai/conversations'],
      ),
    );
  });
});

describe('cached turns', () => {
  const { scene, enter } = stage({ AI_CACHE_ENABLED: 'true' });

  it('a cached turn is sent at once in one piece, with and without events', async () => {
    const { begin, client, used } = await enter();
    const body = { prompt: `About lunch ${Math.random()}`, questionCount: 5 };
    await client.create('/ai/conversations', body);
    const told = await begin(body);
    await told.ended;
    assert.deepEqual(
      told.events.map(({ event, data }) => [event, data.text ?? data.data.message]),
      [
        ['text', message],
        ['reply', message],
      ],
    );
    const other = { ...body, prompt: `About dinner ${Math.random()}` };
    await (await begin(other)).ended;
    assert.equal((await client.create('/ai/conversations', other)).message, message);
    assert.deepEqual([scene.ai.calls.length, (await used()).calls], [2, 2]);
  });
});

const brokenOff = /could not be reached, or broke off/;
const inTime = /did not answer in time/;

/** Failures before the first word: an ordinary refusal. */
async function assertRefused(
  { ai }: Pick<AiFixture, 'ai'>,
  client: Client,
  { provider, what, said }: { provider: string; what: string; said: RegExp },
): Promise<void> {
  const reply = await client.call('POST', '/ai/conversations', {
    body: { prompt: 'About lunch', questionCount: 5, provider },
    headers: accept,
  });
  assertConforms('POST /ai/conversations', reply);
  assert.deepEqual([reply.status, ai.strays], [502, []], what);
  assert.match(reply.body.message, said, what);
}

/** Failures after the first word: an error ends the stream. */
async function assertEndsWithError(told: Told, { what, said }: { what: string; said: RegExp }): Promise<void> {
  await told.ended;
  assert.deepEqual(kindsOf(told), ['text', 'error'], what);
  const { success, code, message: words, requestId } = told.events.at(-1)?.data ?? {};
  assert.deepEqual(
    [success, code, requestId],
    [false, 'AI_PROVIDER_ERROR', told.reply.headers.get('x-request-id')],
    what,
  );
  assert.match(words, said, what);
}

describe('streamed turns that fail', () => {
  const { scene, enter } = stage();

  const atOnce: readonly (readonly [what: string, fault: Fault, said: RegExp])[] = [
    ['a wrong key', { status: 401 }, /key/],
    ['a connection cut before the answer', { cut: 'before' }, brokenOff],
    ['a gigabyte', { bytes: 1024 ** 3 }, brokenOff],
    ['a refusal', { refusal: true }, /refused the content/],
    ['a filter of contents', { text: '{}', ending: 'filter' }, /refused the content/],
    [
      'no stream at all',
      { status: 200, body: '<html>Sign in to the hotel’s network</html>' },
      /did not reply as its interface does/,
    ],
  ];
  const midway: readonly (readonly [what: string, fault: Fault, said: RegExp])[] = [
    ['a stream that is cut', { cut: true }, brokenOff],
    ['a stream that ends too soon', { cut: 'orderly' }, brokenOff],
    ['a breakdown', { breakdown: true }, brokenOff],
  ];

  for (const provider of aiProviders) {
    it(`a failure of ${provider} before the first word is an ordinary refusal`, async () => {
      const { client, used } = await enter();
      for (const [what, fault, said] of atOnce) {
        scene.ai.faults.push(fault);
        await assertRefused(scene, client, { provider, what, said });
      }
      const { calls, failedCalls } = await used();
      assert.deepEqual([calls, failedCalls], [atOnce.length, atOnce.length]);
      assert.ok(scene.ai.floodedBytes < 32 * 1024 * 1024);
    });

    it(`a failure of ${provider} after the first word ends the stream with an error and stores nothing`, async () => {
      const { begin, say, client, used } = await enter();
      const first = await begin({ provider });
      await first.ended;
      const { data } = first.events.at(-1)?.data ?? {};
      for (const [what, fault, said] of midway) {
        scene.ai.faults.push(fault);
        await assertEndsWithError(await say(data.conversationId, 'And the price?'), { what, said });
      }
      assert.deepEqual(await client.get(`/ai/conversations/${data.conversationId}`), data);
      const { calls, failedCalls } = await used();
      assert.deepEqual([calls, failedCalls], [midway.length + 1, midway.length]);
    });
  }
});

describe('streamed turns that take too long', () => {
  // Calls that shall succeed have no longer either.
  const { scene, enter } = stage({ AI_CALL_TIMEOUT_SECONDS: '4' });

  it('are refused before the first word, and end with an error after it, whatever the provider', async () => {
    const script = new Map<SeenCall['wire'], Fault>();
    scene.ai.faultOf = ({ wire }) => {
      const fault = script.get(wire);
      script.delete(wire);
      return fault;
    };
    await Promise.all(
      aiProviders.map(async (provider) => {
        const { begin, say, client, used } = await enter();
        const first = await begin({ provider });
        await first.ended;
        const { data } = first.events.at(-1)?.data ?? {};
        for (const [what, fault] of [
          ['no answer in time', { hang: true }],
          ['a stream without a word', { drip: true }],
        ] as const) {
          script.set(provider, fault);
          await assertRefused(scene, client, { provider, what: `${provider}: ${what}`, said: inTime });
        }
        script.set(provider, { stall: true });
        const slow = await say(data.conversationId, 'And the price?');
        await assertEndsWithError(slow, { what: `${provider}: a stream that stops`, said: inTime });
        assert.deepEqual(await client.get(`/ai/conversations/${data.conversationId}`), data);
        const { calls, failedCalls } = await used();
        assert.deepEqual([calls, failedCalls], [4, 3]);
      }),
    );
  });
});
