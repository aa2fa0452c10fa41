import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import type { Survey } from '../../../../src/domain/survey.ts';
import { createLiveMessage } from '../../../../src/http/live/client-stream.ts';
import { openEventStream } from '../../../../src/http/live/event-stream.ts';
import { createHub, type LiveConnection } from '../../../../src/http/live/hub.ts';
import type { StreamingBody } from '../../../../src/http/server/reply.ts';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { aiJobStatuses } from '../../../../src/stores/postgres/ai/jobs.ts';
import { exportStatuses } from '../../../../src/stores/postgres/exports.ts';
import { bareLive, listener, unused } from '../../../support/bare-live.ts';

/** A stream over a socket that the test fills and empties. */
function open() {
  let survey: Survey = blankSurvey(newId(), listener.userId, 0);
  const [sent, jobs]: [sent: string[], jobs: string[]] = [[], []];
  const state = { nowMs: 0, isFull: false, written: 0, bytes: 0, isCut: false, connected: 0 };
  let writable: () => void = () => undefined;
  const ends: (() => void)[] = [];
  const body: StreamingBody = {
    get isOver() {
      return state.isCut;
    },
    write: (text) => {
      state.written += 1;
      state.bytes += text.length;
      if (text.includes('"type":"job"')) jobs.push(/"status":"(\w+)"/.exec(text)?.[1] ?? '');
      if (text.includes('revision')) sent.push(/"revision":(\d+)/.exec(text)?.[1] ?? '');
      return !state.isFull;
    },
    onWritable: (listener) => {
      writable = listener;
    },
    onEnd: (listener) => void ends.push(listener),
    end: unused,
    close() {
      state.isCut = true;
      for (const end of ends) end();
    },
  };
  const members = new Set<LiveConnection>();
  const bare = bareLive(members, (_, change) => {
    state.connected += change;
  });
  const statusMessage = ({ id: surveyId, revision }: Survey) =>
    createLiveMessage('status', { surveyId, revision, quotas: 'x'.repeat(1000) });
  const deps = {
    ...bare,
    access: { find: async () => survey, rightOf: async () => 'own' as const },
    feed: { ...bare.feed, newestPosition: async () => ({ ms: 1, seq: 0, row: 0 }) },
    quotas: { subscribe: async () => () => undefined },
    statusMessage,
    monotonicMs: () => state.nowMs,
  };
  const session = openEventStream(deps, listener, body);
  const changeStatus = () => {
    survey = { ...survey, revision: survey.revision + 1 };
    session.sendStatus(survey);
    return String(survey.revision);
  };
  const subscribe = () => session.subscribe({ surveyId: survey.id, channels: ['status', 'jobs'] });
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      state.nowMs += 1000;
      mock.timers.tick(1000);
    }
  };
  return { state, sent, jobs, surveyId: survey.id, members, subscribe, changeStatus, pass, drain: () => writable() };
}

describe('an event stream', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  it('is closed after a minute in which the client takes nothing, and leaves nothing behind', () => {
    const { state, members, pass } = open();
    pass(10);
    state.isFull = true;
    pass(60);
    assert.equal(state.isCut, false);
    assert.ok(state.written >= 12, 'the server cuts off ten seconds after the last write');
    pass(15);
    assert.deepEqual([state.isCut, members.size, state.connected], [true, 0, 0]);
  });

  it('stays open for a slow client without buffering events', () => {
    const { state, members, pass, drain } = open();
    state.isFull = true;
    for (let round = 0; round < 10; round += 1) {
      pass(50);
      drain();
    }
    assert.deepEqual([state.isCut, members.size], [false, 1]);
    assert.ok(state.bytes < 400, `${state.bytes} bytes for a socket that was full for 500 s`);
  });

  it('tells a slow client the newest status alone', async () => {
    const { state, sent, subscribe, changeStatus, drain } = open();
    await subscribe();
    const [first] = sent;
    state.isFull = true;
    const second = changeStatus();
    const bytesBefore = state.bytes;
    let newest = second;
    for (let n = 0; n < 500; n += 1) {
      newest = changeStatus();
      if (n % 50 === 49) drain();
    }
    assert.ok(state.bytes - bytesBefore < 100, `${state.bytes - bytesBefore} bytes for a socket that stayed full`);
    state.isFull = false;
    drain();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(sent, [first, second, newest]);
    assert.equal(changeStatus(), sent.at(-1));
  });

  it('tells a client that subscribes again and again while it is slow the newest status alone', async () => {
    const { state, sent, subscribe, changeStatus, drain } = open();
    state.isFull = true;
    for (let n = 0; n < 50; n += 1) await subscribe();
    const newest = changeStatus();
    assert.deepEqual(sent, []);
    state.isFull = false;
    drain();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(sent, [newest]);
  });

  it('tells a slow client of the end of a job alone, whatever it did', async () => {
    const { state, surveyId, members, jobs, subscribe, changeStatus } = open();
    const hub = createHub({
      authentication: { current: unused, clearCache: unused },
      access: { find: unused, rightOf: unused },
      now: Date.now,
      maxStreamsPerUser: 1,
      quotasOf: unused,
      log: createLog('silent'),
    });
    await subscribe();
    for (const member of members) hub.add(member);
    const publishAll = () => {
      for (const status of exportStatuses)
        hub.publishJobProgress({ surveyId, kind: 'export', id: 'e', status, progress: 0 });
      for (const status of aiJobStatuses)
        hub.publishJobProgress({ surveyId, kind: 'ai', id: 'a', status, progress: 0 });
    };
    publishAll();
    assert.deepEqual(jobs.splice(0), [...exportStatuses, ...aiJobStatuses]);
    state.isFull = true;
    changeStatus();
    publishAll();
    assert.deepEqual(jobs, ['COMPLETED', 'FAILED', 'EXPIRED', 'COMPLETED', 'FAILED', 'CANCELLED']);
    hub.stop();
  });

  it('sends a heartbeat before uWS cuts quiet connections', () => {
    const { state, pass } = open();
    pass(60);
    assert.ok(state.written >= 10 && !state.isCut);
  });
});
