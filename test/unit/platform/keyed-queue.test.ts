import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKeyedQueue } from '../../../src/platform/keyed-queue.ts';

describe('a keyed queue', () => {
  it('runs work of one key in order, whether it fails or not, and that of other keys beside it', async () => {
    const run = createKeyedQueue();
    const begun: string[] = [];
    let fail = (_error: Error): void => undefined;
    const first = new Promise<string>((_, reject) => {
      fail = reject;
    });
    const begin = (key: string, name: string, result: Promise<string>) =>
      run(key, () => {
        begun.push(name);
        return result;
      });
    const failing = begin('a', 'a1', first);
    const second = begin('a', 'a2', Promise.resolve('second'));
    assert.equal(await begin('b', 'b1', Promise.resolve('beside')), 'beside');
    assert.deepEqual(begun, ['a1', 'b1']);
    fail(new Error('first'));
    await assert.rejects(failing, /first/);
    assert.equal(await second, 'second');
    assert.equal(await begin('a', 'a3', Promise.resolve('third')), 'third');
    assert.deepEqual(begun, ['a1', 'b1', 'a2', 'a3']);
  });
});
