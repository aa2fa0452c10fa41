import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codePositionsOf, decodeResponse, encodeResponse, encodeTombstone } from '../../../src/domain/response-row.ts';
import { newId } from '../../../src/platform/ids.ts';

const head = {
  surveyId: newId(),
  responseId: newId(),
  submittedAtMs: 1,
  version: 1,
  surveyVersion: 1,
  isComplete: true,
  completedAtMs: 1,
  durationMs: -1,
  language: 'en',
  respondent: 'a, "b", [c',
  metadata: { 'k,[{': 'v],"' },
};

describe('a row of a response', () => {
  it('tells how many code positions it has, whatever commas and brackets stand in its texts', () => {
    const row = (codes: number[]) =>
      encodeResponse(head, { codes, numbers: [1, 2.5, 3], texts: ['x,y,"],[', '\\', ',,,,'] });
    assert.deepEqual(
      [[], [1], [1, 0, 7], [0, 0]].map((codes) => codePositionsOf(row(codes))),
      [0, 1, 3, 0],
    );
    assert.equal(codePositionsOf(encodeTombstone(newId(), newId(), 1)), 0);
  });

  it('keeps every code, in rows of any length', () => {
    const codes = [0, 9, 10, 99, 100, 65_535, 4_294_967_295, Number.MAX_SAFE_INTEGER, 0, 1, 0, 0];
    const encoded = (given: number[]) => encodeResponse(head, { codes: given, numbers: [], texts: [] });
    assert.ok(encoded(codes).endsWith(`[],[],${codes.slice(0, -2).join(',')}]`));
    const many = Array.from({ length: 5000 }, (_, index) => (index * 7919) % 70_000 || 1);
    for (const count of [0, 1, 240, 241, 5000])
      assert.deepEqual(decodeResponse(encoded(many.slice(0, count))).row.codes, many.slice(0, count));
  });

  it('tells it also where it cannot be read, and none for what is no row', () => {
    assert.equal(codePositionsOf(`["${newId()}","${newId()}","not a time",1,0,1,1,0,-1,"en","",{},[],[],5,6]`), 2);
    for (const line of [
      '',
      'null',
      ','.repeat(5000),
      `["${','.repeat(5000)}`,
      '["unfinished',
      `["a",{${'1,'.repeat(5000)}`,
    ])
      assert.equal(codePositionsOf(line), 0, line.slice(0, 20));
  });
});
