import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { weaknessOf } from '../../../src/auth/weak-passwords.ts';

describe('a weak password', () => {
  it('is a common one, also with digits, signs and substitutions', () => {
    for (const weak of [
      'password',
      'Password1!',
      'p@ssw0rd',
      'P455w0rd123',
      'letmein2024',
      'adminadmin',
      'Willkommen1',
      'summer2026!',
      'iloveyou1',
    ])
      assert.match(weaknessOf(weak) ?? '', /most common/, weak);
  });

  it('is a row of keys, a sequence, a repeat or blank', () => {
    for (const weak of [
      '12345678',
      '87654321',
      'qwertyuiop',
      'asdfghjk',
      '1q2w3e4r5t',
      'abcdefgh1',
      'qwer1234',
      'aaaaaaaa',
      'abababab',
      '        ',
      '\u3000'.repeat(9),
      'a       b',
    ])
      assert.notEqual(weaknessOf(weak), undefined, weak);
  });

  it('is the user’s own address, or little more', () => {
    for (const weak of ['ada.lovelace@example.org', 'Ada.Lovelace', 'ada.lovelace1', 'example.org', 'x-example.org'])
      assert.match(weaknessOf(weak, 'Ada.Lovelace@Example.org') ?? '', /own e-mail/, weak);
    assert.equal(weaknessOf('ada.lovelace has a mill', 'ada.lovelace@example.org'), undefined);
  });

  it('is not a long one of words, one of other scripts, or a random one', () => {
    for (const good of [
      'correct horse battery staple',
      'long enough',
      'a good long password',
      'пароль с зимой',
      '正确的马电池订书钉',
      'kX9#vT2qLm',
      'fußgänger-ampel',
      'tr0ub4dor&3',
    ])
      assert.equal(weaknessOf(good, 'ada@example.org'), undefined, good);
  });
});
