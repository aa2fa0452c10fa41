import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import type { LivePosition } from '../../../../src/domain/live-cursor.ts';
import type { Survey } from '../../../../src/domain/survey.ts';
import type { ClientStream } from '../../../../src/http/live/client-stream.ts';
import { createHub } from '../../../../src/http/live/hub.ts';
import { createSession } from '../../../../src/http/live/session.ts';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { bareLive, listener } from '../../../support/bare-live.ts';

const surveyOf = (id: string): Survey => ({ ...blankSurvey(id, listener.userId, 0), status: 'ACTIVE' });
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A survey that somebody listens to already, and a second client whose subscription waits for `goOn`. */
async function setUp() {
  let survey: Survey | undefined = { ...blankSurvey(newId(), listener.userId, Date.now()), status: 'ACTIVE' };
  const surveyId = survey.id;
  const access = { find: async () => survey, rightOf: async () => 'own' as const };
  const hub = createHub({
    authentication: { current: async (known) => known, clearCache: () => undefined },
    access,
    now: Date.now,
    maxStreamsPerUser: 9,
    quotasOf: () => undefined,
    log: createLog('silent'),
  });
  const bare = bareLive(new Set(), () => undefined);
  let position: Promise<LivePosition> = Promise.resolve({ ms: 1, seq: 0, row: 0 });
  const deps = {
    ...bare,
    access,
    statusMessage: hub.statusMessage,
    feed: { ...bare.feed, newestPosition: () => position },
    quotas: { subscribe: async () => () => undefined },
  };
  const connect = () => {
    const texts: string[] = [];
    const client: ClientStream = {
      write: (frames) => void texts.push(...frames.map(({ text }) => text)),
      isCongested: false,
      isOver: false,
      whenWritable: async () => undefined,
    };
    const session = createSession(deps, listener, client);
    hub.add({ session, expire: () => undefined, askToReconnect: () => undefined });
    const messages = () =>
      texts.map((text): { type: string; status?: string } => JSON.parse(text)).filter(({ type }) => type !== 'job');
    return {
      subscribe: () => session.subscribe({ surveyId, channels: ['status'] }),
      isSubscribed: () => session.isSubscribed(surveyId),
      told: () => messages().map(({ type, status }) => status ?? type),
    };
  };
  const [first, second] = [connect(), connect()];
  await first.subscribe();
  let goOn = (): void => undefined;
  position = new Promise((resolve) => {
    goOn = () => resolve({ ms: 1, seq: 0, row: 0 });
  });
  const subscribed = second.subscribe();
  await settled();
  return {
    first,
    second,
    subscribed,
    goOn: () => goOn(),
    check: () => hub.surveyChanged(surveyId),
    change: async (change: Partial<Survey> | undefined) => {
      survey = survey && change && { ...survey, ...change, revision: survey.revision + 1 };
      await hub.surveyChanged(surveyId);
    },
    stop: hub.stop,
  };
}

describe('a client that subscribes while the survey changes', () => {
  it('is told the newest status, once', async () => {
    const { first, second, subscribed, change, check, goOn, stop } = await setUp();
    await change({ status: 'CLOSED', closedReason: 'MANUAL' });
    goOn();
    await subscribed;
    await check();
    assert.deepEqual(first.told(), ['subscribed', 'ACTIVE', 'CLOSED']);
    assert.deepEqual(second.told(), ['subscribed', 'ACTIVE', 'CLOSED']);
    stop();
  });

  it('is not subscribed to a survey that is deleted meanwhile', async () => {
    const { second, subscribed, change, goOn, stop } = await setUp();
    await change(undefined);
    goOn();
    await assert.rejects(subscribed, { code: 'NOT_FOUND' });
    assert.equal(second.isSubscribed(), false);
    stop();
  });
});

describe('a check of the rights of many connections', () => {
  it('looks at each connection once, however many surveys they listen to', async () => {
    const surveys = new Map(Array.from({ length: 100 }, () => newId()).map((id) => [id, surveyOf(id)]));
    const hub = createHub({
      authentication: { current: async (known) => known, clearCache: () => undefined },
      access: { find: async (_by, id) => surveys.get(id), rightOf: async () => 'own' },
      now: Date.now,
      maxStreamsPerUser: 1000,
      quotasOf: () => undefined,
      log: createLog('silent'),
    });
    const [asked, told] = [{ count: 0 }, [] as string[]];
    for (const surveyId of surveys.keys()) {
      const session = createSession(
        bareLive(new Set(), () => undefined),
        listener,
        {
          write: () => undefined,
          isCongested: false,
          isOver: false,
          whenWritable: async () => undefined,
        },
      );
      const isSubscribed = (id: string) => {
        asked.count += 1;
        return id === surveyId;
      };
      const sendStatus = (survey: Survey) => void told.push(survey.id);
      const surveyIds = () => new Set([surveyId]).values();
      hub.add({
        session: { ...session, principal: listener, surveyIds, isSubscribed, sendStatus },
        expire: () => undefined,
        askToReconnect: () => undefined,
      });
    }
    await hub.rightsChanged({ userId: listener.userId });
    hub.stop();
    assert.deepEqual(told, [...surveys.keys()]);
    assert.ok(asked.count <= surveys.size, `${asked.count} looks`);
  });
});
