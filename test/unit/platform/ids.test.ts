import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { isId, isServerGeneratedId, newId, newResponseId } from '../../../src/platform/ids.ts';

describe('ids', () => {
  it('are UUIDs of version 7 in lower case that say when they were made', () => {
    const before = Date.now();
    const id = newId();
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.ok(isId(id) && !isId(id.toUpperCase()) && !isId(` ${id}`) && !isId(id.slice(1)));
    for (const odd of ['', '../', `${id}x`, "' OR 1=1 --".padEnd(36)]) assert.equal(isId(odd), false, odd);
    const madeMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    assert.ok(madeMs >= before - 1 && madeMs <= Date.now() + 1000, String(madeMs - before));
  });

  it('of one process keep their order, also within a millisecond and when the clock is set back', () => {
    const now = Date.now();
    const made: string[] = [];
    for (const offsetMs of [0, 0, -1, -1000, -3_600_000, 0])
      for (let n = 0; n < 5000; n += 1) made.push(newId(now + offsetMs));
    assert.equal(new Set(made).size, made.length);
    assert.deepEqual(made, made.toSorted());
  });

  it('of responses are known again as the service’s own, others nearly never taken for such', () => {
    const own = Array.from({ length: 5000 }, () => newResponseId());
    assert.ok(own.every((id) => isId(id) && isServerGeneratedId(id)));
    assert.equal(new Set(own).size, own.length);
    assert.deepEqual(own, own.toSorted());
    const mistaken = Array.from({ length: 20_000 }, () => randomUUID()).filter(isServerGeneratedId).length;
    assert.ok(mistaken <= 8, `${mistaken} of 20,000`);
  });
});
