import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createActor } from 'xstate';
import { changeCollector, collectorMachine, deleteCollector } from '../../../src/actors/collector-machine.ts';
import { type Collector, collectorOpennessOf } from '../../../src/domain/collectors/collector.ts';
import { Problem } from '../../../src/errors.ts';
import { collectorWith } from '../../support/collectors.ts';

const nowMs = Date.parse('2026-06-01T12:00:00Z');
const at = (offsetMs: number) => new Date(nowMs + offsetMs);
const stateOf = (collector: Collector, atMs = nowMs) => collectorOpennessOf(collector, atMs);
const reasonOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error.code === 'CONFLICT' ? error.details : error.code;
  }
};

describe('the life of a collector', () => {
  const states: Record<string, Partial<Collector>> = {
    open: {},
    paused: { isActive: false },
    scheduled: { opensAt: at(1000) },
    ended: { closesAt: at(0) },
  };

  it('follows from its switch and its dates, from every state to every other', () => {
    for (const [from, before] of Object.entries(states))
      for (const [to, after] of Object.entries(states)) {
        const next = { isActive: true, opensAt: null, closesAt: null, ...after };
        const collector = collectorWith({ code: 1, ...before });
        assert.equal(stateOf(collector), from);
        if (to === 'ended')
          assert.deepEqual(
            reasonOf(() => changeCollector(collector, next, nowMs)),
            { reason: 'COLLECTOR_CLOSED', state: 'ENDED' },
          );
        else assert.equal(stateOf(changeCollector(collector, next, nowMs)), to, `${from} → ${to}`);
      }
  });

  it('may be given an end that has passed, as long as nobody switches it on', () => {
    const changed = changeCollector(collectorWith({ code: 1 }), { closesAt: at(-1) }, nowMs);
    assert.deepEqual([stateOf(changed), changed.updatedAt.getTime()], ['ended', nowMs]);
    assert.equal(stateOf(changeCollector(changed, { isActive: false }, nowMs)), 'ended');
    assert.equal(stateOf(changeCollector(changed, { isActive: true, closesAt: at(1) }, nowMs)), 'open');
  });

  it('passes its dates by itself', () => {
    const collector = collectorWith({ opensAt: at(10), closesAt: at(20) });
    assert.deepEqual(
      [9, 10, 19, 20].map((offset) => stateOf(collector, nowMs + offset)),
      ['scheduled', 'open', 'open', 'ended'],
    );
    const actor = createActor(collectorMachine, {
      input: { dates: collector, isDefault: true },
      snapshot: collectorMachine.resolveState({
        value: 'scheduled',
        context: { dates: collector, isDefault: true },
      }),
    }).start();
    for (const [offset, state] of [
      [9, 'scheduled'],
      [10, 'open'],
      [20, 'ended'],
    ] as const) {
      actor.send({ type: 'TIME_REACHED', nowMs: nowMs + offset });
      assert.equal(actor.getSnapshot().value, state);
    }
  });

  it('ends with its deletion, which the default collector is spared', () => {
    const deleted = deleteCollector(collectorWith({ code: 3 }), nowMs);
    assert.equal(stateOf(deleted), 'deleted');
    assert.deepEqual(
      reasonOf(() => changeCollector(deleted, { name: 'Again' }, nowMs)),
      { reason: 'COLLECTOR_CLOSED', state: 'DELETED' },
    );
    assert.deepEqual(
      reasonOf(() => deleteCollector(deleted, nowMs)),
      { reason: 'COLLECTOR_CLOSED', state: 'DELETED' },
    );
    assert.deepEqual(
      reasonOf(() => deleteCollector(collectorWith(), nowMs)),
      { reason: 'DEFAULT_COLLECTOR' },
    );
  });

  it('ends with its metadata', () => {
    const deleted = deleteCollector(collectorWith({ code: 3, metadata: { agency: 'Müller' } }), nowMs);
    assert.deepEqual(deleted.metadata, {});
  });

  it('does not close before it opens', () => {
    assert.equal(
      reasonOf(() => changeCollector(collectorWith(), { opensAt: at(5), closesAt: at(5) }, nowMs)),
      'VALIDATION_ERROR',
    );
  });
});
