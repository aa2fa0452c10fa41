import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { assetPath } from '../../assets.ts';

/** What an account with an AI provider allows. */
export interface Allowance {
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
  budgetTake(calls: string, tokens: string, hold: string, asked: string, id: string, need: number, requests: number, most: number, windowMs: number, share: number, rememberedMs: number): Promise<number>;
  budgetSettle(tokens: string, id: string, taken: number): Promise<number>;
  budgetHold(hold: string, ms: number): Promise<number>;
};

/** A little more than the minute, since calls that began a minute apart may arrive at the provider closer together. */
export const windowMs = 60_500;

/** Of the minute, while others ask too; alone, bulk work may use all of it. */
const bulkShare = 0.8;
const askedForMs = 300_000;

const script = (name: string): string => readFileSync(assetPath(`src/stores/redis/scripts/budget-${name}.lua`), 'utf8');

/**
 * Room for calls to AI providers, shared by all processes: in no span of a minute do more calls begin, or more tokens go, than the account
 * allows. `account` names whose limits they are. Redis's clock counts.
 */
export function createProviderBudget(plain: Redis) {
  const redis = plain as BudgetRedis;
  redis.defineCommand('budgetTake', { numberOfKeys: 4, lua: script('take') });
  redis.defineCommand('budgetSettle', { numberOfKeys: 1, lua: script('settle') });
  redis.defineCommand('budgetHold', { numberOfKeys: 1, lua: script('hold') });
  const key = (account: string, what: string) => `ai:{${account}}:${what}`;
  return {
    /** 0: there was room, and the call has it. Else the ms after which it is worth asking again. */
    take: (account: string, { id, tokens, isBulk = false }: BudgetedCall, { requestsPerMinute, tokensPerMinute }: Allowance): Promise<number> =>
      redis.budgetTake(
        key(account, 'calls'), key(account, 'tokens'), key(account, 'hold'), key(account, 'asked'), id, tokens, requestsPerMinute, tokensPerMinute, windowMs, isBulk ? bulkShare : 1, askedForMs,
      ),
    settle: async (account: string, { id, tokens }: BudgetedCall): Promise<void> => void (await redis.budgetSettle(key(account, 'tokens'), id, tokens)),
    /** No call begins for a while, in any process: the provider said so. */
    hold: async (account: string, ms: number): Promise<void> => void (await redis.budgetHold(key(account, 'hold'), ms)),
  };
}

export type ProviderBudget = ReturnType<typeof createProviderBudget>;
