import { z } from 'zod';

/** The fields of the service's replies that the replay reads; others are ignored. */

export const envelopeSchema = z.union([
  z.object({ success: z.literal(true), data: z.unknown() }),
  z.object({ success: z.literal(false), message: z.string(), code: z.string(), details: z.unknown().optional() }),
]);

export const sessionSchema = z.object({ accessToken: z.string() });

const named = z.object({ id: z.string(), text: z.string(), value: z.string() });

export const questionSchema = z.object({
  id: z.string(),
  type: z.string(),
  text: z.string(),
  options: z.array(named),
  settings: z.object({ rows: z.array(named).default([]) }),
});
export type ServiceQuestion = z.output<typeof questionSchema>;

export const surveySchema = z.object({
  id: z.string(),
  status: z.string(),
  createdAt: z.string(),
  questions: z.array(questionSchema).default([]),
});

const count = z.number();
const statisticSchema = z.object({
  questionId: z.string(),
  responseCount: count,
  skippedCount: count,
  averageValue: z.number().nullable(),
  minValue: z.number().nullable(),
  maxValue: z.number().nullable(),
  distribution: z.record(z.string(), z.union([count, z.record(z.string(), count)])),
  averageRank: z.record(z.string(), z.number().nullable()).optional(),
  topWords: z.array(z.object({ word: z.string(), count })).optional(),
});
export type Statistic = z.output<typeof statisticSchema>;

export const analyticsSchema = z.object({
  totalResponses: count,
  completeResponses: count,
  questionStats: z.array(statisticSchema),
});
export type Analytics = z.output<typeof analyticsSchema>;

const head = z.object({ value: z.string(), text: z.string(), total: count });

export const crosstabSchema = z.object({
  rows: z.array(head),
  columns: z.array(head),
  cells: z.array(z.array(z.object({ count }))),
  total: count,
  chiSquare: z.object({ statistic: z.number().nullable(), degreesOfFreedom: count, pValue: z.number().nullable() }),
  cramersV: z.number().nullable(),
});
export type CrosstabReply = z.output<typeof crosstabSchema>;
