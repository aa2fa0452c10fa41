import { beginsLikeOpaqueToken } from '../../auth/opaque-tokens.ts';
import type { Problem } from '../../errors.ts';
import { createAtMostOnce } from '../../platform/at-most-once.ts';
import type { Audit } from '../../stores/postgres/audit.ts';
import type { Principal } from './principal.ts';

/** A call that was refused. */
export interface RefusedCall {
  problem: Problem;
  /** Method and path of the route, with parameters unfilled. */
  route: string;
  /** Undefined if the caller was not authenticated. */
  principal: Principal | undefined;
  authorization: string | undefined;
  /** The client's address as used by the rate limits. */
  address: string;
}

/**
 * An actor's refusals of one kind are recorded at most once in this time and process, so that they cannot flood the
 * audit.
 */
const intervalMs = 60_000;

/**
 * Records refusals that point at an attack: calls beyond the caller's rights, and API keys that are unknown, expired,
 * deleted or of a wrong form. Never waits and never fails a call.
 */
export function createRefusalAudit(audit: Pick<Audit, 'record'>, nowMs?: () => number) {
  const isDue = createAtMostOnce(nowMs);
  return ({ problem, route, principal, authorization, address }: RefusedCall): void => {
    if (
      problem.code === 'FORBIDDEN' &&
      principal &&
      isDue(`${principal.keyId ?? principal.userId} ${route}`, intervalMs)
    )
      void audit.record({
        actor: principal,
        action: 'access.refused',
        objectKind: 'service',
        objectId: route,
        details: { address },
      });
    const key = authorization?.replace(/^bearer +/i, '').trim();
    if (
      problem.code === 'UNAUTHORIZED' &&
      key !== undefined &&
      beginsLikeOpaqueToken('apiKey', key) &&
      isDue(address, intervalMs)
    )
      void audit.record({
        actor: null,
        action: 'api-key.refused',
        objectKind: 'api-key',
        objectId: 'unknown',
        details: { address },
      });
  };
}

export type RefusalAudit = ReturnType<typeof createRefusalAudit>;
