import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { assetPath } from '../../../platform/assets.ts';

/** What an account with an AI provider allows. */
export interface ProviderLimits {
  requestsPerMinute: number;
  tokensPerMinute: number;
}

/** A call that asks for room. */
export interface BudgetedCall {
  id: string;
  /** The most it may take; put right by `settle`. */
  tokens: number;
  /** Part of work that is never in a hurry: it leaves a fifth of the minute to others while there are any. */
  isBulk?: boolean;
}

type BudgetRedis = Redis & {
  budgetAcquire(
    calls: string,
    tokens: string,
    hold: string,
    asked: string,
    id: string,
    need: number,
    requests: number,
    most: number,
    windowMs: number,
    share: number,
    rememberedMs: number,
  ): Promise<number>;
  budgetRecordUsage(tokens: string, id: string, taken: number): Promise<number>;
  budgetPause(hold: string, ms: number): Promise<number>;
};

/** A little more than the minute, since calls that began a minute apart may arrive at the provider closer together. */
export const windowMs = 60_500;

/** Of the minute, while others ask too; alone, bulk work may use all of it. */
const bulkShare = 0.8;
const recentDemandMs = 300_000;

const script = (name: string): string => readFileSync(assetPath(`src/stores/redis/ai/budget-${name}.lua`), 'utf8');

/**
 * Room for calls to AI providers, shared by all processes: in no span of a minute do more calls begin, or more tokens go, than the account
 * allows. `account` names whose limits they are. Redis's clock counts.
 */
export function createProviderBudget(plain: Redis) {
  const redis = plain as BudgetRedis;
  redis.defineCommand('budgetAcquire', { numberOfKeys: 4, lua: script('acquire') });
  redis.defineCommand('budgetRecordUsage', { numberOfKeys: 1, lua: script('record-usage') });
  redis.defineCommand('budgetPause', { numberOfKeys: 1, lua: script('pause') });
  const key = (account: string, what: string) => `ai:{${account}}:${what}`;
  return {
    /** 0: there was room, and the call has it. Else the ms after which it is worth asking again. */
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
        id,
        tokens,
        requestsPerMinute,
        tokensPerMinute,
        windowMs,
        isBulk ? bulkShare : 1,
        recentDemandMs,
      ),
    recordUsage: async (account: string, { id, tokens }: BudgetedCall): Promise<void> =>
      void (await redis.budgetRecordUsage(key(account, 'tokens'), id, tokens)),
    /** No call begins for a while, in any process: the provider said so. */
    pause: async (account: string, ms: number): Promise<void> =>
      void (await redis.budgetPause(key(account, 'hold'), ms)),
  };
}

export type ProviderBudget = ReturnType<typeof createProviderBudget>;
