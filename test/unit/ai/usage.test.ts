import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { CompletionRequest, Provider } from '../../../src/ai/providers/provider.ts';
import { waitsForLimits } from '../../../src/ai/providers/waits-for-limits.ts';
import { ask, askDeferred, type Task } from '../../../src/ai/tasks/ask.ts';
import { type CallPurpose, rateLimited, type UsageMeterDeps } from '../../../src/ai/usage.ts';
import { Problem } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { retryOnOutage } from '../../../src/stores/postgres/errors.ts';

const { signal } = new AbortController();
const task: Task<unknown> = {
  name: 'task',
  version: 1,
  tier: 'low',
  system: 's',
  data: {},
  schema: z.object({}),
  read: (value) => ({ value }),
  maxOutputTokens: 10,
};

/** A provider whose calls are limited and written down as `deps` say; counts those that went out. */
function scene(deps: Partial<UsageMeterDeps>, purpose: CallPurpose = {}, other?: Provider) {
  let sent = 0;
  const complete = async ({ begin }: CompletionRequest) => {
    await begin?.();
    sent += 1;
    return { text: '{}', inputTokens: 1, outputTokens: 1 };
  };
  const provider: Provider = other ?? { name: 'openai', models: { high: 'h', low: 'l' }, complete };
  const budget: UsageMeterDeps['budget'] = {
    acquire: async () => 0,
    recordUsage: async () => {},
    pause: async () => {},
  };
  const metered = rateLimited(
    provider,
    { account: 'a', allowance: { requestsPerMinute: 1, tokensPerMinute: 1 }, purpose: { surveyId: 's', ...purpose } },
    {
      budget,
      usage: { record: async () => {} },
      surveys: { isEnabled: async () => true },
      patienceMs: Infinity,
      lasting: (step) => step(),
      newId: () => 'id',
      log: createLog('silent'),
      ...deps,
    },
  );
  return { metered, sent: () => sent };
}

describe('a call within limits', () => {
  it('is not sent where AI was switched off while it waited for room', async () => {
    let isOn = true;
    const takes = [5, 0];
    const acquire = async () => {
      const waitMs = takes.shift() ?? 0;
      if (waitMs === 0) isOn = false;
      return waitMs;
    };
    const settled: number[] = [];
    const { metered, sent } = scene({
      budget: { acquire, recordUsage: async (_, { tokens }) => void settled.push(tokens), pause: async () => {} },
      surveys: { isEnabled: async () => isOn },
    });
    await assert.rejects(ask(metered, task, signal), { code: 'AI_DISABLED' });
    assert.deepEqual([sent(), settled], [0, [0]], 'it gives back what it had taken');
  });

  it('tells for how long it waits for room yet, and when it goes on', async () => {
    const [takes, told]: number[][] = [[6, 5, 0, 0], []];
    const { metered } = scene(
      { budget: { acquire: async () => takes?.shift() ?? 0, recordUsage: async () => {}, pause: async () => {} } },
      { waits: (ms) => told?.push(ms) },
    );
    await ask(metered, task, signal);
    await ask(metered, task, signal);
    assert.deepEqual(told, [6, 5, 0]);
    const refusals = [new Problem('AI_RATE_LIMITED', undefined, { retryAfterSeconds: 0.004 })];
    const refusing: Provider = {
      ...metered,
      complete: async (request) => (refusals.length > 0 ? Promise.reject(refusals.pop()) : metered.complete(request)),
    };
    await ask(
      waitsForLimits(refusing, (ms) => told?.push(ms)),
      task,
      signal,
    );
    assert.deepEqual(told, [6, 5, 0, 4], 'also where the provider itself asks for it');
  });

  it('is not sent where it cannot be known whether AI is on', async () => {
    const { metered, sent } = scene({
      surveys: {
        isEnabled: async () => {
          throw new Error('away');
        },
      },
    });
    await assert.rejects(ask(metered, task, signal), /away/);
    assert.equal(sent(), 0);
  });

  it('is sent, where it is one of a job, although the database was away for a moment, and written down all the same', async () => {
    const missed = new Set<string>();
    const onceAway = async (what: string) => {
      if (missed.has(what)) return true;
      missed.add(what);
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const deps: Partial<UsageMeterDeps> = {
      surveys: { isEnabled: () => onceAway('switch') },
      usage: { record: async () => void (await onceAway('record')) },
    };
    const job = scene({ ...deps, lasting: (step) => retryOnOutage(step, [1]) });
    await ask(job.metered, task, signal);
    assert.deepEqual([job.sent(), [...missed]], [1, ['switch', 'record']]);
    missed.clear();
    const request = scene(deps);
    await assert.rejects(ask(request.metered, task, signal), { code: 'ECONNREFUSED' });
    assert.equal(request.sent(), 0);
  });

  it('is made ready before it may begin, and goes out then', async (t) => {
    // However slow the machine: the leave comes before what it asked for is old.
    t.mock.method(performance, 'now', () => 0);
    const asked: string[] = [];
    let begin = (): void => undefined;
    const mayBegin = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const { metered, sent } = scene({
      budget: {
        acquire: async () => {
          asked.push('room');
          return 0;
        },
        recordUsage: async () => {},
        pause: async () => {},
      },
      surveys: {
        isEnabled: async () => {
          asked.push('switch');
          return true;
        },
      },
    });
    const done = askDeferred(metered, task, { signal, begin: () => mayBegin });
    while (asked.length < 2) await turn();
    for (let turns = 0; turns < 20; turns += 1) await turn();
    assert.deepEqual([asked.sort(), sent()], [['room', 'switch'], 0]);
    begin();
    await done;
    assert.deepEqual([asked.length, sent()], [2, 1]);
  });

  for (const [how, isOnThen] of [
    ['and goes out', true],
    ['and does not go out where AI was switched off meanwhile', false],
  ] as const)
    it(`is made ready once more where it waited for its leave for long: ${how}`, async (t) => {
      let [nowMs, takes, isOn] = [0, 0, true];
      t.mock.method(performance, 'now', () => nowMs);
      const settled: number[] = [];
      const { metered, sent } = scene({
        budget: {
          acquire: async () => {
            takes += 1;
            return 0;
          },
          recordUsage: async (_, { tokens }) => void settled.push(tokens),
          pause: async () => {},
        },
        surveys: { isEnabled: async () => isOn },
      });
      const begin = async () => {
        if (takes === 1) [nowMs, isOn] = [nowMs + 5000, isOnThen];
      };
      const done = askDeferred(metered, task, { signal, begin });
      await (isOnThen ? done.then(({ noted }) => noted) : assert.rejects(done, { code: 'AI_DISABLED' }));
      assert.deepEqual([takes, sent(), settled], isOnThen ? [2, 1, [2]] : [2, 0, [0]]);
    });

  it('is sent after its room was asked for once, however slow the limits are to answer', async (t) => {
    let [nowMs, takes, looks] = [0, 0, 0];
    t.mock.method(performance, 'now', () => nowMs);
    const endless = new AbortController();
    const acquire = async () => {
      for (let turns = 0; turns < 20; turns += 1) await turn();
      [nowMs, takes] = [nowMs + 1000, takes + 1];
      if (takes > 4) endless.abort(new Error('it is asked for again and again'));
      throw new Error('Command timed out');
    };
    const { metered, sent } = scene({
      budget: { acquire, recordUsage: async () => {}, pause: async () => {} },
      surveys: {
        isEnabled: async () => {
          looks += 1;
          return true;
        },
      },
    });
    await ask(metered, task, endless.signal);
    assert.deepEqual([sent(), takes, looks], [1, 1, 2], 'whether AI is on is asked again, and last');
  });

  it('is handed to the provider, which makes it ready, before it is near and has room', async () => {
    const steps: string[] = [];
    const provider: Provider = {
      name: 'openai',
      models: { high: 'h', low: 'l' },
      async complete({ begin }) {
        steps.push('made ready');
        await begin?.();
        steps.push('sent');
        return { text: '{}', inputTokens: 1, outputTokens: 1 };
      },
    };
    const { metered } = scene(
      {
        budget: {
          acquire: async () => {
            steps.push('room');
            return 0;
          },
          recordUsage: async () => {},
          pause: async () => {},
        },
      },
      {},
      provider,
    );
    await askDeferred(metered, task, {
      signal,
      near: async () => void steps.push('near'),
      begin: async () => void steps.push('leave'),
    });
    assert.deepEqual(steps, ['made ready', 'near', 'room', 'leave', 'sent']);
  });

  it('finds out whether AI is on before it is near, and takes room only then', async (t) => {
    t.mock.method(performance, 'now', () => 0);
    const asked: string[] = [];
    let come = (): void => undefined;
    const isNear = new Promise<void>((resolve) => {
      come = resolve;
    });
    const { metered, sent } = scene({
      budget: {
        acquire: async () => {
          asked.push('room');
          return 0;
        },
        recordUsage: async () => {},
        pause: async () => {},
      },
      surveys: {
        isEnabled: async () => {
          asked.push('switch');
          return true;
        },
      },
    });
    const done = askDeferred(metered, task, { signal, near: () => isNear, begin: async () => undefined });
    while (asked.length < 1) await turn();
    for (let turns = 0; turns < 20; turns += 1) await turn();
    assert.deepEqual([asked, sent()], [['switch'], 0]);
    come();
    await done;
    assert.deepEqual([asked, sent()], [['switch', 'room'], 1]);
  });

  for (const [when, news, passedMs] of [
    ['the survey was changed', 1, 1],
    ['that is long ago', 0, 5000],
  ] as const)
    for (const step of ['near', 'begin'] as const)
      it(`is not sent where AI was switched off after it was asked for that and before it ${step === 'near' ? 'was near' : 'had leave'}: where ${when}`, async (t) => {
        let [nowMs, isOn, changedAt] = [1, true, -Infinity];
        t.mock.method(performance, 'now', () => nowMs);
        const switchOff = async () => {
          if (!isOn) return;
          for (let turns = 0; turns < 20; turns += 1) await turn();
          [nowMs, isOn] = [nowMs + passedMs, false];
          if (news === 1) changedAt = nowMs;
        };
        const { metered, sent } = scene({
          surveys: { isEnabled: async () => isOn },
          isChangedSince: (_, sinceMs) => changedAt >= sinceMs,
        });
        const steps = { near: async () => {}, begin: async () => {}, [step]: switchOff };
        await assert.rejects(askDeferred(metered, task, { signal, ...steps }), { code: 'AI_DISABLED' });
        assert.equal(sent(), 0);
      });

  it('gives its room back where it gets no leave to begin, or is broken off before', async () => {
    const settled: number[] = [];
    const { metered, sent } = scene({
      budget: {
        acquire: async () => 0,
        recordUsage: async (_, { tokens }) => void settled.push(tokens),
        pause: async () => {},
      },
    });
    await assert.rejects(
      askDeferred(metered, task, {
        signal,
        begin: async () => {
          throw new Error('no leave');
        },
      }),
      /no leave/,
    );
    const broken = new AbortController();
    await assert.rejects(
      askDeferred(metered, task, { signal: broken.signal, begin: async () => broken.abort(new Error('broken off')) }),
      /broken off/,
    );
    assert.deepEqual([sent(), settled], [0, [0, 0]]);
  });

  it('is written down before its answer is given, but for who has another to make', async () => {
    let write = (): void => undefined;
    const written = new Promise<void>((resolve) => {
      write = resolve;
    });
    const { metered } = scene({ usage: { record: () => written } });
    let isAnswered = false;
    const asked = ask(metered, task, signal).finally(() => {
      isAnswered = true;
      return isAnswered;
    });
    let isNoted = false;
    const { value, noted } = await askDeferred(metered, task, { signal });
    assert.deepEqual(value, {});
    void noted.then(() => {
      isNoted = true;
      return isNoted;
    });
    for (let turns = 0; turns < 20; turns += 1) await turn();
    assert.deepEqual([isAnswered, isNoted], [false, false]);
    write();
    await Promise.all([asked, noted]);
  });

  for (const [how, isSecondAnswered] of [
    ['twice', true],
    ['once, and the provider fails when it is asked again', false],
  ] as const)
    it(`is written down before it is told that its answer could not be used: ${how}`, async () => {
      let write = (): void => undefined;
      const written = new Promise<void>((resolve) => {
        write = resolve;
      });
      const { metered } = scene({ usage: { record: async ({ isFailed }) => (isFailed ? undefined : written) } });
      let calls = 0;
      const provider: Provider = {
        ...metered,
        complete: async (request) => {
          calls += 1;
          if (calls === 2 && !isSecondAnswered) throw new Problem('AI_PROVIDER_ERROR');
          return metered.complete(request);
        },
      };
      let isTold = false;
      const outcome = assert
        .rejects(ask(provider, { ...task, read: () => ({ wrong: ['all of it'] }) }, signal), {
          code: 'AI_PROVIDER_ERROR',
        })
        .then(() => {
          isTold = true;
          return isTold;
        });
      while (calls < 2) await turn();
      for (let turns = 0; turns < 20; turns += 1) await turn();
      assert.equal(isTold, false);
      write();
      await outcome;
    });
});
