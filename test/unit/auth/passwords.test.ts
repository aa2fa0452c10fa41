import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPasswordLength } from '../../../src/auth/passwords.ts';

describe('passwords', () => {
  it('have 8 to 200 code points', () => {
    assert.deepEqual(
      [
        '1234567',
        '12345678',
        '😀'.repeat(7),
        '😀'.repeat(8),
        'a'.repeat(200),
        'a'.repeat(201),
        '😀'.repeat(200),
        '😀'.repeat(201),
      ].map(isPasswordLength),
      [false, true, false, true, true, false, true, false],
    );
  });
});
