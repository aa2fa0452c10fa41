import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { unavailable } from '../../../src/errors.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createSubscriptionLookup } from '../../../src/webhooks/subscription-lookup.ts';
import { eventually } from '../../support/eventually.ts';

const [heard, unheard] = [newId(), newId()];
const listener = {
  webhookId: newId(),
  surveyId: heard,
  events: ['response.submitted'],
  isBatch: false,
  maxWaiting: 10,
  createdAt: new Date(0),
};

/** Endpoints of a PostgreSQL that can go away, and an intake in which events may wait or not. */
async function endpoints({ mock }: TestContext, scopes: (string | null)[]) {
  mock.timers.enable({ apis: ['setInterval'] });
  const state = { isAway: false, mayWait: true, asked: 0 };
  const away = () => {
    if (state.isAway) throw unavailable('away');
  };
  const listeners = createSubscriptionLookup({
    mayWait: () => state.mayWait,
    webhooks: {
      findSubscriptions: async (surveyIds) => {
        away();
        return surveyIds.includes(heard) ? [listener] : [];
      },
      listSubscribedSurveys: async () => {
        away();
        state.asked += 1;
        return scopes;
      },
    },
  });
  mock.timers.tick(1000);
  await eventually(() => assert.ok(state.asked > 0));
  return { state, listeners };
}

describe('the lookup of subscriptions', () => {
  it('asks PostgreSQL each time', async (test) => {
    const { listeners } = await endpoints(test, [heard]);
    assert.deepEqual(await listeners.forSurveys([heard, unheard]), [listener]);
    assert.deepEqual(await listeners.forSurveys([unheard]), []);
    listeners.stop();
  });

  it('waits while PostgreSQL is away and events may wait', async (test) => {
    const { state, listeners } = await endpoints(test, [heard]);
    state.isAway = true;
    await assert.rejects(listeners.forSurveys([unheard]), { code: 'SERVICE_UNAVAILABLE' });
    listeners.stop();
  });

  it('finds no listener where there was none before, once events may not wait', async (test) => {
    const { state, listeners } = await endpoints(test, [heard]);
    Object.assign(state, { isAway: true, mayWait: false });
    assert.deepEqual(await listeners.forSurveys([unheard]), []);
    await assert.rejects(listeners.forSurveys([unheard, heard]), { code: 'SERVICE_UNAVAILABLE' });
    listeners.stop();
  });

  it('never assumes that there is no listener if an endpoint listens to all surveys of its owner', async (test) => {
    const { state, listeners } = await endpoints(test, [null]);
    Object.assign(state, { isAway: true, mayWait: false });
    await assert.rejects(listeners.forSurveys([unheard]), { code: 'SERVICE_UNAVAILABLE' });
    listeners.stop();
  });
});
