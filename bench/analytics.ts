import type { CountPlan, Dimension } from '../src/domain/questions/contract.ts';
import type { ClickHouse } from '../src/stores/clickhouse/client.ts';
import { createCrosstabStore } from '../src/stores/clickhouse/counts/crosstab.ts';
import { createTotalsStore } from '../src/stores/clickhouse/counts/totals.ts';
import { createResponseStore } from '../src/stores/clickhouse/responses.ts';
import { startBenchClickHouse } from './support/clickhouse.ts';
import { machineLine, option } from './support/machine.ts';
import {
  type BenchQuestion,
  benchQuestions,
  benchSurveyId,
  benchWeight,
  fillArrays,
  fillPlain,
  fillResponses,
  mergeParts,
} from './support/response-fill.ts';
import { medianMs } from './support/timing.ts';

/**
 * Analytics of one survey of ten questions: `--responses N` (default 1,000,000). The limit is a plain table of nothing
 * but the answers and weights; the peer keeps answers in arrays. Ours is measured through the store's functions, over
 * HTTP, with exact versions: once with the parts as they arrived (merges and deletions of old responses still apart
 * from them), once at rest. Medians of seven runs.
 */
const responses = option('responses', 1_000_000);

const dimension = ({ slot, options, isBits }: BenchQuestion): Dimension => ({
  categories: Array.from({ length: options }, (_, index) => ({
    code: index + 1,
    value: `${index + 1}`,
    text: `Option ${index + 1}`,
  })),
  source: isBits ? { kind: 'bits', slots: [slot] } : { kind: 'code', slot },
});
const plans = benchQuestions.map(({ slot, isBits }) => ({
  questionId: `q${slot}`,
  plan: {
    base: [slot],
    requests: [isBits ? { kind: 'bits', slots: [slot] } : { kind: 'codes', slot }],
  } satisfies CountPlan,
}));
const [first, second, third, fourth, several] = [0, 5, 3, 6, 9].map((slot) =>
  dimension(benchQuestions[slot] ?? { slot, options: 1, isBits: false }),
);

console.log(machineLine());
const { clickhouse, stop } = await startBenchClickHouse();
try {
  await measure(clickhouse);
} finally {
  await stop();
}

async function measure(clickhouse: ClickHouse): Promise<void> {
  await fillResponses(clickhouse, responses);
  const limit = await measureLimit(clickhouse);
  const fresh = await measureOurs(clickhouse);
  report(`ours, ${await partCount(clickhouse)} parts as they arrived`, fresh, limit);
  await mergeParts(clickhouse);
  const rested = await measureOurs(clickhouse);
  report(`ours, ${await partCount(clickhouse)} parts at rest`, rested, limit);
  const peer = await measurePeer(clickhouse);
  line('arrays in one column, at rest (peer)', `crosstab ${peer.crosstabMs} ms · all questions ${peer.analyticsMs} ms`);
  console.log(`wanted: crosstab ≤ 5 × the limit, whole survey ≤ 800 ms at 10,000,000 responses on 2 cores`);
  console.log(
    JSON.stringify({
      bench: 'analytics',
      responses,
      limitMs: limit.crosstabMs,
      scanMs: limit.scanMs,
      crosstabMs: rested.crosstabMs,
      analyticsMs: rested.analyticsMs,
      weightedLimitMs: limit.weightedMs,
      weightedMs: rested.weightedMs,
      freshWeightedMs: fresh.weightedMs,
      bannerLimitMs: limit.bannerMs,
      bannerMs: rested.bannerMs,
      freshBannerMs: fresh.bannerMs,
      freshCrosstabMs: fresh.crosstabMs,
      freshAnalyticsMs: fresh.analyticsMs,
      peerCrosstabMs: peer.crosstabMs,
      peerAnalyticsMs: peer.analyticsMs,
    }),
  );
}

interface Limit {
  scanMs: number;
  crosstabMs: number;
  weightedMs: number;
  /** Three tables of two columns, in one statement. */
  bannerMs: number;
  analyticsMs: number;
}

async function measureLimit(clickhouse: ClickHouse): Promise<Limit> {
  const plain = await fillPlain(clickhouse);
  const time = async (sql: string) => round(await medianMs(() => clickhouse.select(sql)));
  const scanMs = await time(`SELECT c0, count() FROM ${plain} GROUP BY c0`);
  const crosstabMs = await time(`SELECT c0, c5, count() FROM ${plain} GROUP BY c0, c5`);
  const weightedMs = await time(`SELECT c0, c5, count(), sum(w), sum(w * w) FROM ${plain} WHERE w > 0 GROUP BY c0, c5`);
  const bannerMs = await time(
    `SELECT c0, c5, c3, c6, count() FROM ${plain} GROUP BY GROUPING SETS ((c0, c5), (c0, c3), (c0, c6))`,
  );
  const analyticsMs = round(
    await medianMs(async () => {
      for (const { slot } of benchQuestions)
        await clickhouse.select(`SELECT c${slot}, count() FROM ${plain} GROUP BY c${slot}`);
    }),
  );
  line(
    'plain table of the answers alone (limit)',
    `one column ${scanMs} ms · two columns ${crosstabMs} ms, weighted ${weightedMs} ms, three times two ${bannerMs} ms · ten columns one by one ${analyticsMs} ms`,
  );
  return { scanMs, crosstabMs, weightedMs, bannerMs, analyticsMs };
}

async function measureOurs(clickhouse: ClickHouse) {
  const [totals, crosstab, list] = [
    createTotalsStore({ clickhouse }),
    createCrosstabStore({ clickhouse }),
    createResponseStore({ clickhouse }),
  ];
  const cross = (rows: Dimension | undefined, columns: Dimension | undefined) => async () => {
    if (!rows || !columns) throw new Error('a question is missing');
    const { total } = await crosstab.countCrosstab({ surveyId: benchSurveyId, rows, columns });
    if (total < responses / 2) throw new Error(`only ${total} responses were crossed`);
  };
  const crossWeighted = async () => {
    if (!first || !second) throw new Error('a question is missing');
    const { weighted } = await crosstab.countCrosstab({
      surveyId: benchSurveyId,
      rows: first,
      columns: second,
      weight: { kind: 'number', ...benchWeight },
    });
    if ((weighted?.total.weight ?? 0) < responses / 2)
      throw new Error(`only a weight of ${weighted?.total.weight} was crossed`);
  };
  const crossBanner = async () => {
    if (!first || !second || !third || !fourth) throw new Error('a question is missing');
    const tables = await crosstab.countBanner({
      surveyId: benchSurveyId,
      rows: first,
      columns: [second, third, fourth],
    });
    if (tables.length !== 3 || tables.some(({ total }) => total < responses / 2))
      throw new Error('a table of the banner is not whole');
  };
  return {
    crosstabMs: round(await medianMs(cross(first, second))),
    weightedMs: round(await medianMs(crossWeighted)),
    bannerMs: round(await medianMs(crossBanner)),
    severalMs: round(await medianMs(cross(first, several))),
    analyticsMs: round(await medianMs(() => totals.countSurvey({ surveyId: benchSurveyId, plans }))),
    filteredMs: round(
      await medianMs(() =>
        totals.countSurvey({ surveyId: benchSurveyId, plans, filters: first ? [{ dimension: first, code: 2 }] : [] }),
      ),
    ),
    pageMs: round(await medianMs(() => list.list({ surveyId: benchSurveyId, limit: 20 }))),
  };
}

async function measurePeer(clickhouse: ClickHouse) {
  const arrays = await fillArrays(clickhouse);
  const source = `${arrays} FINAL WHERE survey_id = '${benchSurveyId}'`;
  const code = (slot: number) => `codes[indexOf(questions, ${slot})]`;
  return {
    crosstabMs: round(
      await medianMs(() =>
        clickhouse.select(`SELECT ${code(0)} AS r, ${code(5)} AS k, count() FROM ${source} GROUP BY r, k`),
      ),
    ),
    analyticsMs: round(
      await medianMs(() =>
        clickhouse.select(
          `SELECT question, code, count() FROM (SELECT questions, codes FROM ${source}) ARRAY JOIN questions AS question, codes AS code GROUP BY question, code`,
        ),
      ),
    ),
  };
}

async function partCount(clickhouse: ClickHouse): Promise<number> {
  const [row] = await clickhouse.select<[number]>(
    `SELECT count() FROM system.parts WHERE active AND database = '${clickhouse.database}' AND table = 'responses'`,
  );
  return row?.[0] ?? 0;
}

function report(name: string, ours: Awaited<ReturnType<typeof measureOurs>>, limit: Limit): void {
  const times = `crosstab ${ours.crosstabMs} ms (${(ours.crosstabMs / limit.crosstabMs).toFixed(1)} × limit), with several answers ${ours.severalMs} ms`;
  const further = `weighted ${ours.weightedMs} ms (${(ours.weightedMs / limit.weightedMs).toFixed(1)} × limit), banner of three ${ours.bannerMs} ms (${(ours.bannerMs / limit.bannerMs).toFixed(1)} × limit)`;
  line(
    name,
    `${times}, ${further} · whole survey ${ours.analyticsMs} ms, filtered ${ours.filteredMs} ms · newest page with total ${ours.pageMs} ms`,
  );
}

function line(name: string, text: string): void {
  console.log(`${name.padEnd(44)} ${text}`);
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
