import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wordsIn } from '../../../src/domain/questions/words.ts';
import { spelledWords } from '../../support/spelled-words.ts';

describe('words of a text', () => {
  for (const [text, words] of spelledWords) it(`of “${text}” are ${words.length}`, () => assert.deepEqual(wordsIn(text), words));
});
