import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InvalidReply, RefusedReply } from '../../../../../src/ai/providers/provider.ts';
import { contentVerdictOf, problemOf } from '../../../../../src/ai/providers/provider-errors.ts';
import { Problem } from '../../../../../src/errors.ts';
import { askWithBisection } from '../../../../../src/pipelines/ai/analysis/ask-with-bisection.ts';

const refused = () => new RefusedReply();
const items = (count: number) => Array.from({ length: count }, (_, n) => n);

/** Asks a provider that refuses all in which one of the `bad` is. */
function asking(bad: readonly number[], refusal: () => Error = refused) {
  const asked: (readonly number[])[] = [];
  const ask = async (some: readonly number[]) => {
    asked.push(some);
    if (some.some((item) => bad.includes(item))) throw refusal();
    return some.map((item) => item * 2);
  };
  return { ask, asked };
}

describe('answers that a provider refuses', () => {
  it('do not keep others from being judged, in few calls', async () => {
    for (const bad of [[], [0], [49], [17], [3, 31], [0, 1, 2, 3, 4], [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]]) {
      const { ask, asked } = asking(bad);
      const parts = await askWithBisection(items(50), ask);
      const judged = parts.flatMap(({ from, to, value }) =>
        value
          ? value.map((double, index) => [from + index, double])
          : items(to - from).map((index) => [from + index, undefined]),
      );
      assert.deepEqual(
        judged.sort((one, other) => Number(one[0]) - Number(other[0])),
        items(50).map((n) => [n, bad.includes(n) ? undefined : n * 2]),
      );
      assert.ok(asked.length <= 1 + 14 * bad.length, `${asked.length} calls`);
    }
  });

  it('are distinguished from a provider that refuses everything, or has no valid reply to anything', async () => {
    const all = asking(items(50));
    await assert.rejects(askWithBisection(items(50), all.ask), RefusedReply);
    assert.ok(all.asked.length < 45, `${all.asked.length} calls`);
    await assert.rejects(askWithBisection([1], asking([1], () => new InvalidReply()).ask), InvalidReply);
    assert.deepEqual(await askWithBisection([1], asking([1]).ask), [{ from: 0, to: 1, value: undefined }]);
  });

  it('are distinguished from any other failure, which is thrown at once', async () => {
    const { ask, asked } = asking([5], () => new Problem('AI_RATE_LIMITED'));
    await assert.rejects(askWithBisection(items(50), ask), { code: 'AI_RATE_LIMITED' });
    assert.equal(asked.length, 1);
    const failure = (status: number, words: string) => problemOf(Object.assign(new Error(words), { status }));
    assert.deepEqual(
      [
        contentVerdictOf(failure(400, 'content_filter')),
        contentVerdictOf(failure(400, 'bad')),
        contentVerdictOf(failure(500, 'content_filter')),
        contentVerdictOf(new Error('x')),
      ],
      ['refused', undefined, undefined, undefined],
    );
  });
});
