import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { sliceJson } from '../../../../src/http/server/sliced-json.ts';
import { runAtOnce, runInSlices } from '../../../../src/platform/slices.ts';

it('JSON that is written in slices is that of JSON.stringify', async () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      assert.equal(runAtOnce(sliceJson(value)).toString(), JSON.stringify(value));
    }),
  );
  const table = Array.from({ length: 300 }, (_, r) =>
    Array.from({ length: 300 }, (__, c) => ({ count: r * c, over: c % 7 === 0 ? ['ä"'] : [], none: undefined })),
  );
  const value = { rows: [{ text: 'x' }], cells: table, banner: [{ cells: table }, { cells: [] }], gone: undefined };
  assert.equal((await runInSlices(sliceJson(value))).toString(), JSON.stringify(value));
});

it('JSON with many questions is written in a slice for each', () => {
  const options = [{ text: 'Yes' }, { text: 'No' }];
  const questions = Array.from({ length: 30 }, (_, n) => ({ text: `${n}?`, options: n === 0 ? [] : options }));
  const slices = [...sliceJson({ sections: [{ title: '', questions: [] }, ...Array(30).fill({ questions })] })];
  assert.ok(slices.length > 30 * 30, `${slices.length} slices`);
});
