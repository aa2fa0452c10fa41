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

  it('is the same however the keys are ordered', () => {
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

  it('differs where anything else does', () => {
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

  it('is at hand where the answers are as they are usually written', () => {
    const usual = JSON.stringify(body.answers.map(({ questionId, ...value }) => ({ questionId, ...value })));
    assert.equal(canonicalBodyWith(body, usual), canonicalBody(body));
  });

  it('ends, however deep the body is nested', () => {
    assert.ok(canonicalBody(JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`)).length < 50);
  });
});
