import { z } from 'zod';
import { bases } from '../../domain/analytics/asked.ts';
import { weightCorrections } from '../../domain/analytics/chi-square.ts';
import { countSchema, daySchema, idSchema, timeSchema } from './common.ts';
import { questionTypeSchema } from './questions.ts';

const finiteNumber = z.number();
const percent = z.number().min(0);
const boxSchema = z.strictObject({ count: countSchema, percent: percent.max(100) }).meta({
  id: 'ScaleBox',
  description:
    'Answers at one end of a scale, and their percentage of all answers to the question, or with `base` asked of `askedCount`; 0 if there are none.',
});

/** Counts by value; one level deeper for MATRIX (row, column) and RANKING (option, rank). */
const distributionSchema = z.record(z.string(), z.union([countSchema, z.record(z.string(), countSchema)]));

export const questionStatisticSchema = z
  .strictObject({
    questionId: idSchema,
    type: questionTypeSchema,
    responseCount: countSchema.describe('Responses that answer the question'),
    skippedCount: countSchema.describe(
      'Responses that do not answer it, though it was asked. Unanswered questions of responses that were stored before the survey had paths count as skipped',
    ),
    askedCount: countSchema.describe('`responseCount` + `skippedCount`'),
    notAskedCount: countSchema.describe(
      'Responses in which it was not asked: it was not on their path, it was added later, or, of a partial response, it comes after the last answered question: in the order in which it was asked, where the survey has conditions, skips or a shuffled order, else in the present one',
    ),
    base: z.enum(bases).describe('What percentages refer to, as the request says'),
    averageValue: finiteNumber.nullable().describe('Null if it has no meaning for the type'),
    medianValue: finiteNumber.nullable(),
    standardDeviation: finiteNumber
      .min(0)
      .nullable()
      .describe(
        'Sample standard deviation (n − 1); null below two values. The same answers have the same figure, to the last digit, in whatever order they came and whether one question or all are asked for',
      ),
    minValue: finiteNumber.nullable(),
    maxValue: finiteNumber.nullable(),
    distribution: distributionSchema.describe(
      'Every possible value with its count, zeros included; two levels for MATRIX and RANKING; empty for texts. A NUMBER has up to 20 equal bins `lo–hi`: [lo, hi), the last one closed; if all answers are one number, that is the key. If its `min` and `max` are set, and no earlier answer is beyond them, twenty bins reach from one to the other. Otherwise bins have a round width (1, 2, 2.5 or 5 times a power of ten) and begin at its multiples, around all numbers of the whole survey: dates, `isComplete` and filters do not move them, so that selections can be compared. The key of a bin is exactly its edges. With `integer` a bin is a whole number (`3`), or with more than 20 of them a range of a width such as 2, 5, 10 or 20 that begins at its multiples (`15–20` holds 15 to 19). A SLIDER of more than 20 steps has 20 bins of its scale. A DATE has the days that were answered, an EMAIL domains, a FILE_UPLOAD media types: the 100,000 most frequent days and domains and 10,000 media types; `otherAnswers` counts the rest. The order of the keys means nothing (many languages put keys that look like whole numbers first): show them in the order of the question’s `options` and `settings.rows`, of the numbers on a scale, of days and hours. A removed option or row is shown, at its old place on a scale, as long as any response of the whole survey has chosen it, whatever is selected',
    ),
    otherAnswers: countSchema
      .optional()
      .describe(
        'DATE, EMAIL and FILE_UPLOAD: answers whose key is not in `distribution`, so that both add up to `responseCount`; missing if there are none',
      ),
    nps: z
      .strictObject({
        promoters: countSchema,
        passives: countSchema,
        detractors: countSchema,
        score: finiteNumber.min(-100).max(100).nullable(),
      })
      .optional()
      .describe('NPS: promoters answer 9–10, passives 7–8, detractors 0–6'),
    topBox: boxSchema
      .optional()
      .describe(
        'Scales: the highest point of the question, whatever is selected; for a LIKERT_SCALE the last of the present options. Answers at a removed option count in the base and in means but in no box, so that the boxes of subgroups add up',
      ),
    bottomBox: boxSchema.optional().describe('Scales: the lowest point, likewise'),
    averageRank: z
      .record(z.string(), finiteNumber.nullable())
      .optional()
      .describe('RANKING: mean rank by option value; null if nobody ranked it'),
    averageByRow: z
      .record(z.string(), finiteNumber.nullable())
      .optional()
      .describe(
        'MATRIX: mean column (1…n) by row value; null if nobody answered it. Meaningful only if the columns are an ordered scale',
      ),
    baseByRow: z
      .record(z.string(), countSchema)
      .optional()
      .describe(
        'MATRIX: responses that answer the row, by row value: the base of its percentages. Where a row takes several answers, its counts add up to more',
      ),
    askedByRow: z
      .record(z.string(), countSchema)
      .optional()
      .describe('MATRIX: responses in which the row was asked, answered or not, by row value'),
    topWords: z
      .array(
        z.strictObject({
          word: z.string(),
          count: countSchema.describe(
            'Mentions: how often the word was written, also several times in one answer; not a number of respondents',
          ),
        }),
      )
      .max(50)
      .optional()
      .describe(
        "Texts: the most frequent words, at most 50, equally frequent ones in the order of their letters. A word is a run of letters, marks and digits, with apostrophes inside it (’ is counted as '); it is put into Unicode form NFC and lower case. Only words of one character are left out (articles count), and endings are not cut. Scripts without spaces give runs of letters",
      ),
    otherWords: z
      .strictObject({ words: countSchema.describe('Different words'), count: countSchema.describe('Mentions of them') })
      .optional()
      .describe('Texts: the words that are not in `topWords`'),
  })
  .meta({
    id: 'QuestionStatistic',
    description: 'Statistics of the answers to one question. Percentages and means have full precision.',
  });

export const surveyAnalyticsSchema = z
  .strictObject({
    totalResponses: countSchema.describe('Responses of every outcome'),
    completeResponses: countSchema.describe('Responses that are COMPLETED'),
    completionRate: percent
      .max(100)
      .describe('completeResponses as a percentage of totalResponses with one decimal; 0 without responses'),
    outcomes: z
      .strictObject({
        PARTIAL: countSchema,
        COMPLETED: countSchema,
        SCREENED_OUT: countSchema,
        OVER_QUOTA: countSchema,
      })
      .describe('Responses by outcome; they add up to totalResponses'),
    averageDuration: z
      .number()
      .min(0)
      .describe(
        'Mean in seconds, over the COMPLETED responses that have a duration; 0 if none has. A duration runs from the client’s `startedAt` to completion',
      ),
    medianDuration: z
      .number()
      .min(0)
      .nullable()
      .describe(
        'Median of the same in seconds, each rounded to a second and at most 65,535; null if no COMPLETED response has a duration. One forgotten tab moves the mean, and not the median',
      ),
    responsesByDay: z.array(z.strictObject({ date: daySchema, count: countSchema })).describe('By UTC day, in order'),
    collectors: z
      .array(z.strictObject({ collectorId: idSchema, name: z.string(), responseCount: countSchema }))
      .describe('Responses by collector, complete and partial; deleted collectors if they have any'),
    lastResponseAt: timeSchema.nullable(),
    questionStats: z.array(questionStatisticSchema),
  })
  .meta({ id: 'SurveyAnalytics', description: 'Statistics of a whole survey. Counts are exact.' });

const headSchema = z
  .strictObject({
    value: z.string(),
    text: z.string(),
    total: countSchema.describe('Respondents, unweighted'),
    weightedTotal: z.number(),
    effectiveBase: z.number().min(0),
  })
  .meta({
    id: 'CrosstabHead',
    description:
      'A row or column of a crosstab. Its effective base is (Σw)² / Σw² of its respondents; without weights, their number.',
  });

const cellSchema = z
  .strictObject({
    count: countSchema,
    weightedCount: z.number(),
    rowPercent: percent,
    columnPercent: percent,
    totalPercent: percent,
    significantOver: z
      .array(z.string())
      .describe(
        'Values of the columns whose column percentage this one exceeds significantly, in the order of the columns. Empty everywhere if `isCompared` is false',
      ),
  })
  .meta({
    id: 'CrosstabCell',
    description:
      'With a weight, percentages are of weighted counts. Percentages of a row, column or table without respondents are 0.',
  });

const chiSquareFields = {
  statistic: z.number().min(0).nullable(),
  degreesOfFreedom: countSchema,
  pValue: z.number().min(0).max(1).nullable(),
};

const associationFields = {
  chiSquare: z
    .strictObject({
      ...chiSquareFields,
      effectiveDegreesOfFreedom: z
        .number()
        .min(0)
        .optional()
        .describe(
          'With a weight: f, as many degrees of freedom as the test has. `pValue` is P(χ²(f) ≥ statistic · f / degreesOfFreedom)',
        ),
      correction: z.enum(weightCorrections).optional().describe('With a weight: how the test takes it into account'),
    })
    .describe(
      'Pearson’s, without Yates’ correction; null if the table has fewer than two rows or columns with answers. With a weight corrected for it: by the design effects of Rao and Scott (second order), whose mean, where it is below Σw² / Σw, is drawn towards it as by five more respondents; or, for questions with several answers, scaled by `effectiveBase` / `weightedTotal`',
    ),
  uncorrectedChiSquare: z
    .strictObject(chiSquareFields)
    .optional()
    .describe(
      'With a weight: Pearson’s over the weighted counts as they are shown. Its p-value is no test: it falls with the size and the spread of the weights',
    ),
  cramersV: z.number().min(0).nullable(),
};

const tableFields = {
  rows: z.array(headSchema),
  columns: z.array(headSchema),
  cells: z.array(z.array(cellSchema)).describe('Row by row, in the order of `rows` and `columns`'),
  isCompared: z
    .boolean()
    .describe(
      'Whether columns were compared. False if more than 1,000,000 comparisons would be needed, more than 20,000 in one row, or more than 6,000,000 characters to name the columns, of all tables together; a request that asks for `significance` or `correction` is refused then',
    ),
  isPartlyCompared: z
    .literal(true)
    .optional()
    .describe(
      'Present where exact tests of columns that share respondents were left out because they would take too long: an empty `significantOver` may then also mean that two columns were not compared',
    ),
  total: countSchema.describe('Respondents who answered both questions'),
  weightedTotal: z.number(),
  effectiveBase: z.number().min(0).describe('(Σw)² / Σw²; the total without a weight'),
  ...associationFields,
  unweightable: countSchema
    .optional()
    .describe('With a weight: respondents left out because they have no usable weight'),
};

const bannerSchema = z
  .strictObject({
    questionId: z.string().describe('As in the request'),
    rowId: z.string().optional(),
    ...tableFields,
  })
  .meta({
    id: 'CrosstabBanner',
    description:
      'The same rows against the columns of a further question; their totals are of those who answered it too.',
  });

export const crosstabSchema = z
  .strictObject({ ...tableFields, banner: z.array(bannerSchema).optional() })
  .meta({ id: 'Crosstab', description: 'Two questions crossed. Questions with several answers count respondents.' });
