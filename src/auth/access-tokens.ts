import { errors, type JWTHeaderParameters, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { isId, newId } from '../platform/ids.ts';
import { createLruCache } from '../platform/lru-cache.ts';
import type { SigningKeys } from './signing-keys.ts';

/** What an access token says: who, and from which session. Roles are not in it: they are read where they are kept. */
export interface AccessClaims {
  userId: string;
  sessionId: string;
}

export interface AccessTokensOptions {
  keys: SigningKeys;
  ttlSeconds: number;
  nowMs(): number;
}

const issuer = 'survey-service';
const audience = 'survey-service/api';
const type = 'at+jwt';
const algorithm = 'EdDSA';
/** Ours are below 500 characters; nothing longer is looked at. */
const longestToken = 2048;
const tokensRemembered = 20_000;
const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const headerNames = new Set(['alg', 'typ', 'kid']);

interface Verified extends AccessClaims {
  expiresAtMs: number;
}

/**
 * Signs and reads access tokens (JWT, RFC 9068 profile, Ed25519). A token is believed only if its header holds `alg`, `typ` and the
 * `kid` of one of our own keys and nothing else, and its claims are whole. No leeway: the hosts of one installation share a clock
 * to well within a second. A signature is checked once; after that only the time is.
 */
export function createAccessTokens({ keys, ttlSeconds, nowMs }: AccessTokensOptions) {
  const verified = createLruCache<Verified>(tokensRemembered);
  return {
    ttlSeconds,

    sign({ userId, sessionId }: AccessClaims): Promise<string> {
      const issuedAt = Math.floor(nowMs() / 1000);
      return new SignJWT({ sid: sessionId })
        .setProtectedHeader({ alg: algorithm, typ: type, kid: keys.current.kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(userId)
        .setJti(newId())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ttlSeconds)
        .sign(keys.current.privateKey);
    },

    /** Undefined for whatever is not a valid token of ours. */
    async read(token: string): Promise<AccessClaims | undefined> {
      const known = verified.get(token);
      const fresh = known ?? (await verify(keys, token, nowMs()));
      if (!fresh || fresh.expiresAtMs <= nowMs()) {
        if (known) verified.delete(token);
        return undefined;
      }
      if (!known) verified.set(token, fresh);
      return fresh;
    },
  };
}

export type AccessTokens = ReturnType<typeof createAccessTokens>;

async function verify(keys: SigningKeys, token: string, nowMs: number): Promise<Verified | undefined> {
  if (token.length > longestToken || !compactForm.test(token)) return undefined;
  try {
    const { payload } = await jwtVerify(token, (header) => ownKey(keys, header), {
      algorithms: [algorithm],
      issuer,
      audience,
      typ: type,
      clockTolerance: 0,
      currentDate: new Date(nowMs),
      requiredClaims: ['exp', 'iat', 'sub', 'sid', 'jti'],
    });
    return claimsOf(payload);
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/** Never a key that the token brings along or points to. */
function ownKey(keys: SigningKeys, header: JWTHeaderParameters) {
  const key = typeof header.kid === 'string' ? keys.publicKeys.get(header.kid) : undefined;
  if (!key || Object.keys(header).some((name) => !headerNames.has(name)))
    throw new errors.JWSInvalid('not a token of ours');
  return key;
}

function claimsOf({ sub, sid, jti, exp }: JWTPayload): Verified | undefined {
  if (typeof sid !== 'string' || typeof sub !== 'string' || typeof jti !== 'string' || !isId(sid) || !isId(sub))
    return undefined;
  return Number.isSafeInteger(exp) && exp !== undefined
    ? { userId: sub, sessionId: sid, expiresAtMs: exp * 1000 }
    : undefined;
}
