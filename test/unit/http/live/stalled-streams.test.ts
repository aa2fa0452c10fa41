import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { openEventStream } from '../../../../src/http/live/event-stream.ts';
import type { LiveConnection } from '../../../../src/http/live/hub.ts';
import type { StreamingBody } from '../../../../src/http/server/reply.ts';
import { bareLive, listener, unused } from '../../../support/bare-live.ts';

/** A stream over a socket that the test fills and empties. */
function open() {
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
  const deps = {
    ...bareLive(members, (_, change) => {
      state.connected += change;
    }),
    monotonicMs: () => state.nowMs,
  };
  openEventStream(deps, listener, body);
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      state.nowMs += 1000;
      mock.timers.tick(1000);
    }
  };
  return { state, members, pass, drain: () => writable() };
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

  it('sends a heartbeat before uWS cuts quiet connections', () => {
    const { state, pass } = open();
    pass(60);
    assert.ok(state.written >= 10 && !state.isCut);
  });
});
