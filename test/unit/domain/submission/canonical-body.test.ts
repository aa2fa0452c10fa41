import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  canonicalBody,
  canonicalBodyWith,
  legacyCanonicalBody,
} from '../../../../src/domain/submission/canonical-body.ts';

describe('the canonical form of a body', () => {
  const body = {
    answers: [
      { questionId: 'a', numberValue: 1 },
      { questionId: 'b', textValue: 'grün "so"' },
    ],
    metadata: { b: '1', a: '2' },
    isComplete: true,
  };

  it('is the same for any order of keys', () => {
    const reversed = {
      isComplete: true,
      metadata: { a: '2', b: '1' },
      answers: [
        { numberValue: 1, questionId: 'a' },
        { textValue: 'grün "so"', questionId: 'b' },
      ],
    };
    assert.equal(canonicalBody(reversed), canonicalBody(body));
    assert.equal(legacyCanonicalBody(reversed), legacyCanonicalBody(body));
    assert.equal(
      legacyCanonicalBody({ b: [1, { d: null, c: 'é' }], a: true }),
      '{"a":true,"b":[1,{"c":"é","d":null}]}',
    );
  });

  it('differs for any other difference', () => {
    const [first, second] = body.answers;
    const others = [
      { ...body, answers: [second, first] },
      { ...body, answers: [first] },
      { ...body, isComplete: false },
      { answers: body.answers },
      { ...body, metadata: { a: '1', b: '2' } },
      null,
      [],
      'text',
      1,
      {},
    ];
    assert.equal(new Set([body, ...others].map(canonicalBody)).size, others.length + 1);
  });

  it('is taken from the body if the answers are written as usual', () => {
    const usual = JSON.stringify(body.answers.map(({ questionId, ...value }) => ({ questionId, ...value })));
    assert.equal(canonicalBodyWith(body, usual), canonicalBody(body));
  });

  it('is bounded, however deep the body is nested', () => {
    assert.ok(canonicalBody(JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`)).length < 50);
  });
});
