import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createAccessTokens } from '../../../src/auth/access-tokens.ts';
import { hashOpaqueToken, isOpaqueToken, makeOpaqueToken } from '../../../src/auth/opaque-tokens.ts';
import { makeSigningKey, readSigningKeys } from '../../../src/auth/signing-keys.ts';
import { forgedTokens, tokenParts } from '../../support/forged-tokens.ts';

const who = { userId: randomUUID(), sessionId: randomUUID() };

async function tokensOf(pem: string, clock = { ms: Date.now() }) {
  return {
    clock,
    tokens: createAccessTokens({ keys: await readSigningKeys(pem), ttlSeconds: 60, nowMs: () => clock.ms }),
  };
}

describe('access tokens', () => {
  it('are read as they were signed', async () => {
    const { tokens } = await tokensOf(makeSigningKey());
    const claims = await tokens.read(await tokens.sign(who));
    assert.equal(claims?.userId, who.userId);
    assert.equal(claims?.sessionId, who.sessionId);
  });

  it('expire to the second, also from the cache', async () => {
    const { tokens, clock } = await tokensOf(makeSigningKey(), { ms: 1_800_000_000_000 });
    const token = await tokens.sign(who);
    clock.ms += 59_999;
    assert.ok(await tokens.read(token));
    clock.ms += 1;
    assert.equal(await tokens.read(token), undefined);
    assert.equal(await tokens.read(token), undefined);
  });

  it('are refused in every forged form', async () => {
    const pem = makeSigningKey();
    const { tokens } = await tokensOf(pem);
    const { good } = await tokenParts({ pem, ...who });
    assert.ok(await tokens.read(good), 'the forgeries start from a token that is believed');
    const forgeries = await forgedTokens({ pem, ...who });
    assert.ok(forgeries.length >= 25);
    for (const { name, token } of forgeries) assert.equal(await tokens.read(token), undefined, name);
  });

  it('are refused if another installation signed them', async () => {
    const [ours, theirs] = [await tokensOf(makeSigningKey()), await tokensOf(makeSigningKey())];
    assert.equal(await ours.tokens.read(await theirs.tokens.sign(who)), undefined);
  });
});

describe('signing keys', () => {
  it('can be rotated without signing users out', async () => {
    const [old, next] = [makeSigningKey(), makeSigningKey()];
    const [before, between, after] = [
      await tokensOf(`${old}${next}`),
      await tokensOf(`${next}${old}`),
      await tokensOf(next),
    ];
    assert.ok(await between.tokens.read(await before.tokens.sign(who)));
    assert.ok(await before.tokens.read(await between.tokens.sign(who)));
    assert.ok(await after.tokens.read(await between.tokens.sign(who)));
    assert.equal(await after.tokens.read(await before.tokens.sign(who)), undefined);
  });

  it('are the same from PEM, PEM in one line, JWK and JWK set', async () => {
    const pem = makeSigningKey();
    const jwk = createPrivateKey(pem).export({ format: 'jwk' });
    const forms = [pem, pem.trim().replaceAll('\n', '\\n'), JSON.stringify(jwk), JSON.stringify({ keys: [jwk] })];
    const kids = await Promise.all(forms.map(async (form) => (await readSigningKeys(form)).current.kid));
    assert.deepEqual(new Set(kids).size, 1);
  });

  it('of another kind, or unreadable ones, are refused without being quoted', async () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString();
    const publicOnly = JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: 'o3ueBfC0Su4kRJHZ4U-eSmzeDdwNGytguipCxv7eAKo' });
    for (const text of [
      ec,
      publicOnly,
      '{"kty":',
      'sesame',
      '',
      '{"keys":[]}',
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
    ])
      await assert.rejects(
        readSigningKeys(text),
        (error: Error) => /^(must|holds)/.test(error.message) && !error.message.includes('AAAA'),
        text.slice(0, 30),
      );
  });
});

describe('opaque tokens', () => {
  it('have 256 random bits and a prefix for their kind', () => {
    const [key, refresh] = [makeOpaqueToken('apiKey'), makeOpaqueToken('refresh')];
    assert.match(key, /^sk_[A-Za-z0-9_-]{43}$/);
    assert.ok(isOpaqueToken('apiKey', key) && isOpaqueToken('refresh', refresh));
    assert.ok(
      !isOpaqueToken('apiKey', refresh) &&
        !isOpaqueToken('refresh', `${refresh}A`) &&
        !isOpaqueToken('apiKey', key.toUpperCase()),
    );
    assert.equal(hashOpaqueToken(key).length, 32);
    assert.notEqual(makeOpaqueToken('apiKey'), key);
  });
});
