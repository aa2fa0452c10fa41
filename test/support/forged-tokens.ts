import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto';
import { readSigningKeys } from '../../src/auth/signing-keys.ts';

export interface Forgery {
  name: string;
  token: string;
}

export interface ForgeryOptions {
  /** The installation's own key: many forgeries are badly made tokens under a good signature. */
  pem: string;
  userId: string;
  sessionId: string;
}

type Json = Record<string, unknown>;

const encode = (text: string) => Buffer.from(text).toString('base64url');

function edSigned(key: KeyObject, header: Json, payload: string): string {
  const input = `${encode(JSON.stringify(header))}.${encode(payload)}`;
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`;
}

function macSigned(secret: string | Buffer, header: Json, payload: string): string {
  const input = `${encode(JSON.stringify(header))}.${encode(payload)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

/** A token as the service itself would make it, and what it takes to make others. */
export async function tokenParts({ pem, userId, sessionId }: ForgeryOptions) {
  const { current } = await readSigningKeys(pem);
  const nowSeconds = Math.floor(Date.now() / 1000);
  const header: Json = { alg: 'EdDSA', typ: 'at+jwt', kid: current.kid };
  const claims: Json = {
    iss: 'survey-service',
    aud: 'survey-service/api',
    sub: userId,
    sid: sessionId,
    jti: randomUUID(),
    iat: nowSeconds,
    exp: nowSeconds + 600,
  };
  const own = createPrivateKey(pem);
  return { header, claims, nowSeconds, own, good: edSigned(own, header, JSON.stringify(claims)) };
}

/** Every way of making a token that must not be believed. */
export async function forgedTokens(options: ForgeryOptions): Promise<Forgery[]> {
  const parts = await tokenParts(options);
  return [...foreignSignatures(parts), ...badHeaders(parts), ...badClaims(parts), ...badForms(parts)].map(
    ([name, token]) => ({ name, token }),
  );
}

type Parts = Awaited<ReturnType<typeof tokenParts>>;
type Named = [name: string, token: string];

function foreignSignatures({ header, claims, own, good }: Parts): Named[] {
  const payload = JSON.stringify(claims);
  const publicKey = createPublicKey(own);
  const jwk = publicKey.export({ format: 'jwk' });
  const stranger = generateKeyPairSync('ed25519');
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const ecInput = `${encode(JSON.stringify({ ...header, alg: 'ES256' }))}.${encode(payload)}`;
  const [head, body, signature] = good.split('.') as [string, string, string];
  const unsigned = (alg: string) => `${encode(JSON.stringify({ ...header, alg }))}.${body}.`;
  const hs = { ...header, alg: 'HS256' };
  return [
    ['alg none', unsigned('none')],
    ['alg NONE', unsigned('NONE')],
    ['alg nOnE', unsigned('nOnE')],
    ['alg none with a signature', `${unsigned('none')}${signature}`],
    ['HS256 with the public key as PEM', macSigned(publicKey.export({ type: 'spki', format: 'pem' }), hs, payload)],
    ['HS256 with the public key as bytes', macSigned(Buffer.from(jwk.x ?? '', 'base64url'), hs, payload)],
    ['HS256 with the public key as JWK', macSigned(JSON.stringify(jwk), hs, payload)],
    ['HS256 with an empty secret', macSigned('', hs, payload)],
    ["a stranger's key under our kid", edSigned(stranger.privateKey, header, payload)],
    [
      'ES256',
      `${ecInput}.${sign('sha256', Buffer.from(ecInput), { key: ec, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`,
    ],
    ['an algorithm that is not asked for', edSigned(own, { ...header, alg: 'Ed25519' }, payload)],
    [
      'jwk header',
      edSigned(stranger.privateKey, { ...header, jwk: stranger.publicKey.export({ format: 'jwk' }) }, payload),
    ],
    ['an empty signature', `${head}.${body}.`],
    [
      'a changed claim under the old signature',
      `${head}.${encode(JSON.stringify({ ...claims, exp: 9_999_999_999 }))}.${signature}`,
    ],
    ['a changed signature', `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`],
    ['a signature of zeros', `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`],
  ];
}

function badHeaders({ header, claims, own }: Parts): Named[] {
  const payload = JSON.stringify(claims);
  const { kid: _, ...kidless } = header;
  const { typ: __, ...typeless } = header;
  const with_ = (more: Json): string => edSigned(own, { ...header, ...more }, payload);
  return [
    ['a kid that climbs folders', with_({ kid: '../../../../dev/null' })],
    ['a kid that is SQL', with_({ kid: "x' UNION SELECT 'AA'; --" })],
    ['a kid of the prototype', with_({ kid: '__proto__' })],
    ['a kid that is a number', with_({ kid: 0 })],
    ['a kid that is a list', with_({ kid: [header['kid']] })],
    ['no kid', edSigned(own, kidless, payload)],
    ['own jwk header', with_({ jwk: createPublicKey(own).export({ format: 'jwk' }) })],
    ['jku header', with_({ jku: 'http://127.0.0.1:1/keys' })],
    ['x5u header', with_({ x5u: 'http://127.0.0.1:1/certificate' })],
    ['x5c header', with_({ x5c: ['AAAA'] })],
    ['an unknown crit', with_({ crit: ['exp'] })],
    ['crit b64', with_({ crit: ['b64'], b64: true })],
    ['typ JWT', with_({ typ: 'JWT' })],
    ['typ of an ID token', with_({ typ: 'id+jwt' })],
    ['no typ', edSigned(own, typeless, payload)],
  ];
}

function badClaims({ header, claims, own, nowSeconds }: Parts): Named[] {
  const with_ = (more: Json): string => edSigned(own, header, JSON.stringify({ ...claims, ...more }));
  const raw = (exp: string) => edSigned(own, header, JSON.stringify(claims).replace(/"exp":\d+/, `"exp":${exp}`));
  return [
    ['expired a second ago', with_({ exp: nowSeconds - 1 })],
    ['expired long ago', with_({ exp: 1 })],
    ['exp as text', with_({ exp: String(nowSeconds + 600) })],
    ['exp NaN', raw('NaN')],
    ['exp null', raw('null')],
    ['exp 1e400', raw('1e400')],
    ['exp past whole numbers', raw('1e300')],
    ['no exp', with_({ exp: undefined })],
    ['nbf in an hour', with_({ nbf: nowSeconds + 3600 })],
    ['another audience', with_({ aud: 'another-service' })],
    ['a list of other audiences', with_({ aud: ['a', 'b'] })],
    ['no audience', with_({ aud: undefined })],
    ['another issuer', with_({ iss: 'https://example.org' })],
    ['no issuer', with_({ iss: undefined })],
    ['no subject', with_({ sub: undefined })],
    ['a subject that is no id', with_({ sub: 'admin' })],
    ['no session', with_({ sid: undefined })],
    ['a session that is SQL', with_({ sid: "' OR '1'='1" })],
    ['a session in upper case', with_({ sid: String(claims['sid']).toUpperCase() })],
    ['no jti', with_({ jti: undefined })],
    ['claims that are a list', edSigned(own, header, '[]')],
    ['claims that are no JSON', edSigned(own, header, '{"sub":')],
  ];
}

function badForms({ good, claims, header, own }: Parts): Named[] {
  return [
    ['two parts', good.split('.').slice(0, 2).join('.')],
    ['five parts', `${good}.AAAA.AAAA`],
    ['padding', `${good}=`],
    ['dots alone', '..'],
    ['a word', 'null'],
    ['a refresh token', `rt_${'A'.repeat(43)}`],
    ['an unknown API key', `sk_${'A'.repeat(43)}`],
    ['a short API key', 'sk_A'],
    ['8 KB of claims', edSigned(own, header, JSON.stringify({ ...claims, more: 'x'.repeat(6000) }))],
  ];
}
