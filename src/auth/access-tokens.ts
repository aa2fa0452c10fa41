import { errors, type JWTHeaderParameters, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { isId, newId } from '../platform/ids.ts';
import { createLruCache } from '../platform/lru-cache.ts';
import type { SigningKeys } from './signing-keys.ts';

/** The claims of an access token. Roles are not included: they are read from the user store. */
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
/** In characters. Issued tokens are shorter than 500; longer texts are refused without parsing. */
const maxTokenLength = 2048;
const maxCachedTokens = 20_000;
const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const headerNames = new Set(['alg', 'typ', 'kid']);

interface Verified extends AccessClaims {
  expiresAtMs: number;
}

/**
 * Signs and verifies access tokens (JWT, RFC 9068 profile, Ed25519). A token is accepted only if its header has exactly
 * `alg`, `typ` and the `kid` of one of our keys, and its claims are complete. There is no clock tolerance, as the hosts
 * of an installation must be synchronised to within a second. Verified tokens are cached, so that later calls check
 * only the expiry.
 */
export function createAccessTokens({ keys, ttlSeconds, nowMs }: AccessTokensOptions) {
  const verified = createLruCache<Verified>(maxCachedTokens);
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

    /** The claims of a valid token; undefined for anything else. */
    async read(token: string): Promise<AccessClaims | undefined> {
      const cached = verified.get(token);
      const claims = cached ?? (await verify(keys, token, nowMs()));
      if (!claims || claims.expiresAtMs <= nowMs()) {
        if (cached) verified.delete(token);
        return undefined;
      }
      if (!cached) verified.set(token, claims);
      return claims;
    },
  };
}

export type AccessTokens = ReturnType<typeof createAccessTokens>;

async function verify(keys: SigningKeys, token: string, nowMs: number): Promise<Verified | undefined> {
  if (token.length > maxTokenLength || !compactForm.test(token)) return undefined;
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

/** Selects one of our keys by `kid`; keys embedded in or referenced by the token are never used. */
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
