import { Problem } from '../errors.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { AccessTokens } from './access-tokens.ts';
import { hashOpaqueToken, isOpaqueToken, makeOpaqueToken } from './opaque-tokens.ts';
import type { TokenPair } from './sign-in.ts';

export interface SessionOwner {
  sessionId: string;
  userId: string;
}

/** Result of presenting a refresh token. */
export type Rotation =
  | ({ kind: 'rotated' } & SessionOwner)
  /** used within the grace period: the encrypted successor issued then */
  | ({ kind: 'repeated'; successorSealed: Buffer } & SessionOwner)
  /** used before the grace period: the session has been ended */
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
  /** Called, before the refusal, after a session was ended because one of its tokens was reused. */
  onReuse(owner: SessionOwner): Promise<void>;
}

/** For this long, a client that lost the reply or sent a token twice concurrently gets the same successor. */
const graceSeconds = 10;

/**
 * Exchanges a refresh token for the next token pair. Throws UNAUTHORIZED if the token is not valid; reuse of an old
 * token also ends its session.
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
