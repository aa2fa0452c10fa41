import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import {
  type Attempt,
  createStoreConnection,
  NoAnswerError,
  type StoreConnectionOptions,
  startWhenReady,
  waitForStores,
} from '../../../../src/stores/connections/store-connection.ts';

class Away extends Error {}

const log = createLog('silent');
const isAbsence = (error: unknown) => error instanceof Away || error instanceof NoAnswerError;
const never = () => new Promise<void>(() => undefined);

function contactOf(connect: StoreConnectionOptions['connect'], options: Partial<StoreConnectionOptions> = {}) {
  const describeError = (error: unknown) => (error as Error).message;
  const words = { name: 'Store', place: 'STORE_URL 127.0.0.1:1', publicName: 'The store', describeError };
  const times = { attemptMs: 20, retryMs: 1, refusedRetryMs: 1 };
  return createStoreConnection({ ...words, ...times, connect, isUnreachable: isAbsence, log, ...options });
}

/** Attempts with these outcomes, one after the other; the last outcome repeats. */
const attempts = (...outcomes: (Error | 'reached')[]) => {
  let made = 0;
  return async () => {
    const outcome = outcomes[Math.min(made, outcomes.length - 1)];
    made += 1;
    if (outcome instanceof Error) throw outcome;
  };
};

const isRefusal = (error: unknown) =>
  error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE' && error.retryAfterSeconds !== undefined;

describe('the first connection to a store', () => {
  it('is tried again until it succeeds, and calls are refused until then', async () => {
    const contact = contactOf(attempts(new Away('connect ECONNREFUSED'), new Away('connect ECONNREFUSED'), 'reached'));
    assert.throws(() => contact.assertReady(), isRefusal);
    assert.equal(contact.isReady, false);
    await contact.ready;
    assert.equal(contact.isReady, true);
    contact.assertReady();
  });

  it('limits the time of every attempt and closes what it opened', async () => {
    const signals: AbortSignal[] = [];
    const contact = contactOf(({ signal }: Attempt) => {
      signals.push(signal);
      return signals.length < 3 ? never() : Promise.resolve();
    });
    await contact.ready;
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, true, true],
    );
    assert.match(contact.describeProblem(), /STORE_URL 127\.0\.0\.1:1: no answer within 20 ms/);
  });

  it('sets no time limit for the migration after the server has answered', async () => {
    let end: () => void = () => undefined;
    const contact = contactOf(({ serverAnswered }) => {
      serverAnswered();
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    // Longer than an attempt may wait for an answer.
    const longer = new Promise((_, reject) => setTimeout(() => reject(new Away()), 60));
    await assert.rejects(Promise.race([contact.ready, longer]), Away);
    assert.deepEqual([contact.isMigrating, contact.isReady], [true, false]);
    assert.match(contact.describeProblem(), /^Store is being brought up to date/);
    end();
    await contact.ready;
    assert.equal(contact.isMigrating, false);
  });

  it('reports a refusal and is tried again', async () => {
    const contact = contactOf(attempts(new Away('away'), new Error('wrong password'), 'reached'));
    assert.equal(((await contact.refused) as Error).message, 'wrong password');
    await contact.ready;
  });

  it('ends with stop, during an attempt and between two', async () => {
    let tries = 0;
    const hanging = contactOf(never, { attemptMs: 60_000 });
    const pausing = contactOf(
      async () => {
        tries += 1;
        throw new Away();
      },
      { retryMs: 60_000 },
    );
    await new Promise((resolve) => setImmediate(resolve));
    for (const contact of [hanging, pausing]) contact.stop();
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.equal(tries, 1);
    assert.deepEqual([hanging.isReady, pausing.isReady], [false, false]);
  });
});

describe('waitForStores', () => {
  const patience = { answerMs: 30, prepareMs: 60_000 };

  it('waits until all stores are reached', async () => {
    const contacts = [contactOf(attempts('reached')), contactOf(attempts(new Away(), 'reached'))];
    await waitForStores(contacts, { answerMs: 60_000 });
    assert.ok(contacts.every(({ isReady }) => isReady));
  });

  it('waits until the deadline, which a migration extends', async () => {
    const away = contactOf(attempts(new Away()));
    await waitForStores([away], patience);
    let end: () => void = () => undefined;
    const preparing = contactOf(({ serverAnswered }) => {
      serverAnswered();
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    setTimeout(() => end(), 120);
    await waitForStores([preparing], patience);
    assert.ok(preparing.isReady);
    away.stop();
  });

  it('rejects as soon as one store refuses', async () => {
    const contacts = [contactOf(never), contactOf(attempts(new Error('too old')))];
    await assert.rejects(waitForStores(contacts, { answerMs: 60_000 }), /too old/);
    for (const contact of contacts) contact.stop();
  });
});

describe('startWhenReady', () => {
  it('starts once when all are reached, and stops', async () => {
    const told: string[] = [];
    let reach: () => void = () => undefined;
    const late = {
      ready: new Promise<void>((resolve) => {
        reach = resolve;
      }),
    };
    const stop = startWhenReady([late, { ready: Promise.resolve() }], () => {
      told.push('started');
      return async () => void told.push('stopped');
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(told, []);
    reach();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(told, ['started']);
    await stop();
    assert.deepEqual(told, ['started', 'stopped']);
  });

  it('never starts when it was stopped before, and its stop waits for nothing', async () => {
    let reach: () => void = () => undefined;
    const stop = startWhenReady(
      [
        {
          ready: new Promise<void>((resolve) => {
            reach = resolve;
          }),
        },
      ],
      () => assert.fail('it started'),
    );
    await stop();
    reach();
    await new Promise((resolve) => setImmediate(resolve));
  });
});
