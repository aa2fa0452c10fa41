import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openAnonymiser } from '../../src/ai/anonymise.ts';
import { ordinaryAnswers } from '../support/ordinary-answers.ts';

describe('the anonymiser and answers that tell nothing about a person', () => {
  it('leaves more than 400 of them as they were written, byte for byte', async () => {
    const anonymise = await openAnonymiser();
    assert.ok(new Set(ordinaryAnswers).size > 400);
    for (const answer of ordinaryAnswers) assert.equal(anonymise(answer), answer);
  });
});
