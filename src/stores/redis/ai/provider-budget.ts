import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { assetPath } from '../../../platform/assets.ts';

/** Limits of an account with an AI provider. */
export interface ProviderLimits {
  requestsPerMinute: number;
  tokensPerMinute: number;
}

/** A call that needs a share of the limits. */
export interface BudgetedCall {
  id: string;
  /** Maximum tokens of the call; corrected by `recordUsage` afterwards. */
  tokens: number;
  /**
   * Call of a bulk job, which leaves a fifth of the limits to other calls while there are any, and as much as the largest
   * of those that wait needs.
   */
  isBulk?: boolean;
}

type BudgetRedis = Redis & {
  budgetAcquire(
    calls: string,
    tokens: string,
    pause: string,
    demand: string,
    wanted: string,
    id: string,
    maxTokens: number,
    requests: number,
    tokensPerMinute: number,
    windowMs: number,
    share: number,
    recentDemandMs: number,
    keptForMs: number,
  ): Promise<number>;
  budgetRecordUsage(tokens: string, id: string, usedTokens: number): Promise<number>;
  budgetPause(pause: string, ms: number): Promise<number>;
};

/** Slightly more than a minute, because calls may arrive at the provider closer together than they were sent. */
export const windowMs = 60_500;

/** Share of the limits that bulk jobs may use while other calls were made within `recentDemandMs`. */
const bulkShare = 0.8;
const recentDemandMs = 300_000;

/** How long the room of a waiting call is kept beyond its wait, for callers who ask again when they were told to. */
const keptForMs = 10_000;

const script = (name: string): string => readFileSync(assetPath(`src/stores/redis/ai/budget-${name}.lua`), 'utf8');

/**
 * Limits calls to AI providers over all processes: in any minute no more calls are sent, and no more tokens used, than
 * the account allows. `account` identifies whose limits they are. Times are those of Redis.
 */
export function createProviderBudget(plain: Redis) {
  const redis = plain as BudgetRedis;
  redis.defineCommand('budgetAcquire', { numberOfKeys: 5, lua: script('acquire') });
  redis.defineCommand('budgetRecordUsage', { numberOfKeys: 1, lua: script('record-usage') });
  redis.defineCommand('budgetPause', { numberOfKeys: 1, lua: script('pause') });
  const key = (account: string, what: string) => `ai:{${account}}:${what}`;
  return {
    /** Returns 0 when the call may be sent, otherwise the milliseconds after which to ask again. */
    acquire: (
      account: string,
      { id, tokens, isBulk = false }: BudgetedCall,
      { requestsPerMinute, tokensPerMinute }: ProviderLimits,
    ): Promise<number> =>
      redis.budgetAcquire(
        key(account, 'calls'),
        key(account, 'tokens'),
        key(account, 'hold'),
        key(account, 'asked'),
        key(account, 'wanted'),
        id,
        tokens,
        requestsPerMinute,
        tokensPerMinute,
        windowMs,
        isBulk ? bulkShare : 1,
        recentDemandMs,
        keptForMs,
      ),
    recordUsage: async (account: string, { id, tokens }: BudgetedCall): Promise<void> =>
      void (await redis.budgetRecordUsage(key(account, 'tokens'), id, tokens)),
    /** Stops all calls of all processes for `ms`, as the provider asked. */
    pause: async (account: string, ms: number): Promise<void> =>
      void (await redis.budgetPause(key(account, 'hold'), ms)),
  };
}

export type ProviderBudget = ReturnType<typeof createProviderBudget>;
