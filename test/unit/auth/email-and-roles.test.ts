import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { emailKey, isEmail } from '../../../src/auth/email.ts';
import { isRoleWithin, lesserRole, surveyRight, userRoles } from '../../../src/auth/roles.ts';

describe('e-mail addresses', () => {
  it('are accepted in every script, also with one host label', () => {
    for (const email of [
      'admin@localhost',
      'a.b+c@example.org',
      "o'neil@sub.example.co.uk",
      'żółw@przykład.pl',
      '用户@例子.公司',
      'x@127.0.0.1',
    ])
      assert.ok(isEmail(email), email);
  });

  it('are refused when malformed', () => {
    const long = 'a'.repeat(65);
    for (const email of [
      '',
      'a',
      '@b',
      'a@',
      'a@b@c',
      'a b@c',
      'a@b c',
      '.a@b',
      'a.@b',
      'a..b@c',
      'a@.b',
      'a@b.',
      'a@-b',
      'a@b-',
      `${long}@b`,
      `a@${'b.'.repeat(130)}c`,
      'a@b\n',
      'a\u0000@b',
      'a\u200b@b',
      'a＠b@c',
      '⒈@b',
      '"a b"@c',
      'a,b@c',
      '<a@b>',
    ])
      assert.ok(!isEmail(email), JSON.stringify(email));
  });

  it('are equal in every case and Unicode compatibility form', () => {
    assert.equal(emailKey('  ＡＤＭＩＮ@Example.ORG '), 'admin@example.org');
    assert.equal(emailKey('\u212A@x'), 'k@x');
    for (const email of ['İstanbul@x', 'ﬁ@x', 'Ａ@x', 'Σς@x'])
      assert.equal(emailKey(emailKey(email)), emailKey(email), email);
  });

  it('are checked in bounded time, also hostile ones', () => {
    const started = performance.now();
    for (const text of [
      `${'a'.repeat(250)}!@`,
      `a@${'-'.repeat(251)}`,
      `${'.'.repeat(253)}@`,
      '@'.repeat(254),
      'a'.repeat(250_000),
    ])
      isEmail(text);
    assert.ok(
      performance.now() - started < 5000,
      'a quarter of a million characters would take minutes in quadratic time',
    );
  });
});

describe('roles', () => {
  it('are ordered from ADMIN to VIEWER', () => {
    assert.deepEqual(
      userRoles.map((role) => userRoles.filter((bound) => isRoleWithin(role, bound)).length),
      [1, 2, 3],
    );
    assert.equal(lesserRole('ADMIN', 'VIEWER'), 'VIEWER');
    assert.equal(lesserRole('EDITOR', 'ADMIN'), 'EDITOR');
  });

  it('give the rights of the contract on a survey', () => {
    const right = (role: (typeof userRoles)[number], tie: 'owner' | 'EDITOR' | 'VIEWER' | 'stranger') =>
      surveyRight({
        role,
        isOwner: tie === 'owner',
        memberRole: tie === 'EDITOR' || tie === 'VIEWER' ? tie : undefined,
      });
    const table = {
      ADMIN: { owner: 'own', EDITOR: 'own', VIEWER: 'own', stranger: 'own' },
      EDITOR: { owner: 'own', EDITOR: 'edit', VIEWER: 'read', stranger: undefined },
      VIEWER: { owner: 'read', EDITOR: 'read', VIEWER: 'read', stranger: undefined },
    } as const;
    for (const role of userRoles)
      for (const tie of ['owner', 'EDITOR', 'VIEWER', 'stranger'] as const)
        assert.equal(right(role, tie), table[role][tie], `${role} as ${tie}`);
  });
});
