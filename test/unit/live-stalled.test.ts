import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { openEventStream, type EventStreamDeps } from '../../src/http/live/event-stream.ts';
import type { Principal } from '../../src/http/principal.ts';
import type { OpenBody } from '../../src/http/reply.ts';
import { createLog } from '../../src/log.ts';

const unused = (): never => {
  throw new Error('nobody subscribes here');
};
const principal: Principal = { userId: 'u', email: 'u@example.org', role: 'ADMIN', sessionId: 's', keyId: null, requestsPerMinute: null };

/** A stream over a socket that the test fills and empties. */
function open() {
  const state = { nowMs: 0, isFull: false, written: 0, isCut: false, members: 0, connected: 0 };
  let writable: () => void = () => undefined;
  const ends: (() => void)[] = [];
  const body: OpenBody = {
    get isOver() {
      return state.isCut;
    },
    write: () => {
      state.written += 1;
      return !state.isFull;
    },
    onWritable: (listener) => void (writable = listener),
    onEnd: (listener) => void ends.push(listener),
    end: unused,
    close() {
      state.isCut = true;
      for (const end of ends) end();
    },
  };
  const deps: EventStreamDeps = {
    hub: { add: () => void (state.members += 1), remove: () => void (state.members -= 1), all: () => [], statusFrame: unused, surveyChanged: unused, rightsChanged: unused, jobMoved: unused, stop: unused },
    access: { find: unused, rightOf: unused }, feed: { now: unused, read: unused, attach: unused, detach: unused, watch: unused, wake: unused, stop: unused },
    analytics: { join: unused, touch: unused }, statusFrame: unused, log: createLog('silent'), monotonicMs: () => state.nowMs,
    metrics: { liveSent: () => undefined, liveLagged: () => undefined, liveConnected: (_, change) => void (state.connected += change) },
  };
  openEventStream(deps, principal, body);
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      state.nowMs += 1000;
      mock.timers.tick(1000);
    }
  };
  return { state, pass, drain: () => writable() };
}

describe('an event stream', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  it('whose client takes nothing is given up after a minute, and leaves nothing behind', () => {
    const { state, pass } = open();
    pass(10);
    state.isFull = true;
    pass(60);
    assert.equal(state.isCut, false);
    pass(15);
    assert.deepEqual([state.isCut, state.members, state.connected], [true, 0, 0]);
  });

  it('whose client takes a little now and then is kept, and nothing is piled up for it', () => {
    const { state, pass, drain } = open();
    state.isFull = true;
    for (let round = 0; round < 10; round += 1) {
      pass(50);
      drain();
    }
    assert.deepEqual([state.isCut, state.members], [false, 1]);
    assert.ok(state.written < 15, `${state.written} writes to a socket that was full for 500 s`);
  });

  it('that is quiet shows a sign of life before the server cuts quiet connections', () => {
    const { state, pass } = open();
    pass(60);
    assert.ok(state.written >= 10 && !state.isCut);
  });
});
