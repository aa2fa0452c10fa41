import { z } from 'zod';
import { Problem } from '../../errors.ts';
import type { AiUsageStore, UsageRow, UsageSums } from '../../stores/postgres/ai/usage.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { providerSchema, usageSchema } from '../schemas/ai.ts';
import { idSchema } from '../schemas/common.ts';
import { endField, invertedRangeIssue, isRangeInverted, startField } from '../schemas/query-fields.ts';

export interface AiUsageRoutesDeps {
  usage: Pick<AiUsageStore, 'sums'>;
}

const query = z
  .strictObject({
    startDate: startField.optional(),
    endDate: endField.optional(),
    provider: providerSchema.optional(),
    surveyId: idSchema.optional().describe('Only calls about this survey'),
    userId: idSchema.optional().describe('Only calls for this user; for an ADMIN'),
  })
  .refine((range) => !isRangeInverted(range), invertedRangeIssue);

export function aiUsageRoutes({ usage }: AiUsageRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/ai/usage',
      operationId: 'getAiUsage',
      tag: 'AI',
      summary: 'Sum up AI calls, tokens and cost',
      description:
        'An ADMIN sees the calls of all users, others their own. Cached replies do not count. Calls are kept for 400 days.',
      access: { kind: 'editor' },
      limit: 'api',
      query,
      reply: usageSchema,
      replyStatus: 200,
      handle: async ({ query: range, principal }) => {
        const isAdmin = principal.role === 'ADMIN';
        if (!isAdmin && range.userId !== undefined && range.userId !== principal.userId) throw new Problem('FORBIDDEN');
        return ok(present(await usage.sums({ ...range, userId: isAdmin ? range.userId : principal.userId })));
      },
    }),
  ];
}

function present(rows: readonly UsageRow[]) {
  const whole = rows.find(({ model, task, day }) => model === null && task === null && day === null);
  return {
    ...usageOf(whole),
    byModel: rows.flatMap((row) =>
      row.model === null ? [] : [{ provider: row.provider, model: row.model, ...usageOf(row) }],
    ),
    byTask: rows.flatMap((row) => (row.task === null ? [] : [{ task: row.task, ...usageOf(row) }])),
    byDay: rows.flatMap((row) => (row.day === null ? [] : [{ day: row.day, ...usageOf(row) }])),
  };
}

function usageOf({
  calls = 0,
  failedCalls = 0,
  inputTokens = 0,
  outputTokens = 0,
  costUsd = 0,
  unpricedCalls = 0,
}: Partial<UsageSums> = {}): UsageSums {
  // Prices have 8 decimals. Without any known price the cost is unknown rather than 0.
  const isUnknown = calls > 0 && unpricedCalls === calls;
  return {
    calls,
    failedCalls,
    inputTokens,
    outputTokens,
    costUsd: isUnknown ? null : Number((costUsd ?? 0).toFixed(8)),
    unpricedCalls,
  };
}
