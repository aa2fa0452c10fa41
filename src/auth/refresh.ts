import { Problem } from '../errors.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { AccessTokens } from './access-tokens.ts';
import { hashOpaqueToken, isOpaqueToken, makeOpaqueToken } from './opaque-tokens.ts';
import type { TokenPair } from './sign-in.ts';

export interface SessionOwner {
  sessionId: string;
  userId: string;
}

/** What became of a refresh token that was handed in. */
export type Rotation =
  | ({ kind: 'rotated' } & SessionOwner)
  /** used a moment ago: the successor that was given out then, sealed */
  | ({ kind: 'repeated'; successorSealed: Buffer } & SessionOwner)
  /** used before: the session has been ended */
  | ({ kind: 'reused' } & SessionOwner)
  | { kind: 'refused' };

export interface RotationRequest {
  tokenHash: Buffer;
  successorHash: Buffer;
  successorSealed: Buffer;
  graceSeconds: number;
}

export interface RefreshDeps {
  sessions: { rotate(request: RotationRequest): Promise<Rotation> };
  accessTokens: Pick<AccessTokens, 'sign' | 'ttlSeconds'>;
  secrets: Pick<Secrets, 'seal' | 'open'>;
  /** A session was ended because one of its tokens was used twice: told before the caller hears of it. */
  onReuse(owner: SessionOwner): Promise<void>;
}

/** A client that lost the reply, or sent the same token twice at once, gets the same successor for this long. */
const graceSeconds = 10;

/**
 * Trades a refresh token for the next pair. Throws UNAUTHORIZED for whatever is not a live token; if it was one that had been used
 * before, its whole session is over by then.
 */
export function createRefresh({ sessions, accessTokens, secrets, onReuse }: RefreshDeps) {
  return async (refreshToken: string): Promise<TokenPair> => {
    if (!isOpaqueToken('refresh', refreshToken)) throw new Problem('UNAUTHORIZED', message);
    const tokenHash = hashOpaqueToken(refreshToken);
    const context = `refresh successor of ${tokenHash.toString('hex')}`;
    const successor = makeOpaqueToken('refresh');
    const rotation = await sessions.rotate({
      tokenHash,
      successorHash: hashOpaqueToken(successor),
      successorSealed: secrets.seal(successor, context),
      graceSeconds,
    });
    if (rotation.kind === 'reused') await onReuse(rotation);
    if (rotation.kind === 'reused' || rotation.kind === 'refused') throw new Problem('UNAUTHORIZED', message);
    return {
      accessToken: await accessTokens.sign(rotation),
      refreshToken: rotation.kind === 'rotated' ? successor : secrets.open(rotation.successorSealed, context),
      expiresIn: accessTokens.ttlSeconds,
    };
  };
}

export type Refresh = ReturnType<typeof createRefresh>;

const message = 'A valid refresh token is needed';
