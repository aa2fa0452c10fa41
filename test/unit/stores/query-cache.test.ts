import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CrosstabCounts } from '../../../src/domain/analytics/crosstab-counts.ts';
import type { CountResult, Dimension } from '../../../src/domain/questions/contract.ts';
import type { BannerQuery, CrosstabStore } from '../../../src/stores/clickhouse/counts/crosstab.ts';
import type { SurveyCountQuery, SurveyCounts } from '../../../src/stores/clickhouse/counts/totals.ts';
import { createQueryCache } from '../../../src/stores/query-cache.ts';

const surveyId = '01a20397-dc33-72b4-917b-69c7c46bbf08';
const query: SurveyCountQuery = {
  surveyId,
  plans: [{ questionId: 'q', plan: { base: [0], requests: [{ kind: 'codes', slot: 0 }] } }],
};
const code: Dimension = { categories: [], source: { kind: 'code', slot: 0 } };
const finding: Dimension = { categories: [], source: { kind: 'annotation', edition: 'e', questionId: null } };

/** Counts that say how often they were counted, over a mark and a clock that a test moves. */
function watched({
  figures = 1,
  result,
  overlaps = 0,
  areServersApart = false,
}: {
  figures?: number;
  /** Pairs of columns with common respondents in a crosstab. */
  overlaps?: number;
  result?: CountResult;
  areServersApart?: boolean;
} = {}) {
  const scene = { mark: 'a' as string | undefined, nowMs: 0, counted: 0, fails: false };
  const countSurvey = async (): Promise<SurveyCounts> => {
    scene.counted += 1;
    if (scene.fails) throw new Error('away');
    const counts = new Map(Array.from({ length: figures }, (_, at) => [at + 1, 1]));
    return {
      total: scene.counted,
      outcomes: { PARTIAL: 0, COMPLETED: 0, SCREENED_OUT: 0, OVER_QUOTA: 0 },
      counted: scene.counted,
      notAsked: new Map(),
      durationAverageMs: null,
      durationMedianSeconds: null,
      lastSubmittedAt: null,
      byDay: [],
      perQuestion: new Map([['q', { base: 1, partBases: [], results: [result ?? { kind: 'codes', counts }] }]]),
    };
  };
  const columnOverlaps = Array.from({ length: overlaps }, (_, at) => ({ one: 1, other: at + 2, count: 1 }));
  const table: CrosstabCounts = { cells: [], rowTotals: new Map(), columnTotals: new Map(), total: 0, columnOverlaps };
  const countBanner = async (): Promise<CrosstabCounts[]> => [{ ...table, total: ++scene.counted }];
  const crosstab: CrosstabStore = {
    countBanner,
    countCrosstab: () => assert.fail(),
    lacksMetadataKey: async () => ++scene.counted > 0,
  };
  const kept = createQueryCache({
    totals: { countSurvey },
    crosstab,
    dataVersions: { find: async () => scene.mark },
    mayReplicasLag: areServersApart,
    now: () => scene.nowMs,
  });
  const ask = async (asked: Partial<SurveyCountQuery> = {}): Promise<number> =>
    (await kept.totals.countSurvey({ ...query, ...asked })).total;
  const cross = async (asked: Partial<BannerQuery> = {}): Promise<number> =>
    (await kept.crosstab.countBanner({ surveyId, rows: code, columns: [code], ...asked }))[0]?.total ?? 0;
  const lacks = (key: string): Promise<boolean> => kept.crosstab.lacksMetadataKey({ surveyId, key });
  return { scene, ask, cross, lacks };
}

describe('cached counts', () => {
  it('are counted once until the survey’s next batch', async () => {
    const { scene, ask, cross } = watched();
    assert.deepEqual([await ask(), await ask(), await cross(), await cross()], [1, 1, 2, 2]);
    scene.mark = 'b';
    assert.deepEqual([await ask(), await cross(), await ask()], [3, 4, 3]);
  });

  it('include whether a metadata key is missing', async () => {
    const { scene, lacks } = watched();
    await Promise.all([lacks('panel'), lacks('panel'), lacks('Panel')]);
    assert.equal(scene.counted, 2);
    scene.mark = 'b';
    assert.deepEqual([await lacks('panel'), scene.counted], [true, 3]);
  });

  it('are shared by concurrent callers', async () => {
    const { ask } = watched();
    assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [1, 1, 1]);
  });

  it('are shared by concurrent callers without a data version and with annotations too', async () => {
    const { scene, ask, cross } = watched();
    const filters = [{ dimension: finding, code: 1 }];
    assert.deepEqual(await Promise.all([ask({ filters }), ask({ filters })]), [1, 1]);
    assert.deepEqual(await Promise.all([cross({ rows: finding }), cross({ rows: finding })]), [2, 2]);
    scene.mark = undefined;
    assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [3, 3, 3]);
    assert.deepEqual(await Promise.all([ask(), ask({ filters }), cross({ rows: finding })]), [4, 5, 6]);
  });

  it('are not shared by a caller who comes after a batch that was stored while they were counted', async () => {
    const { scene, ask } = watched();
    scene.mark = undefined;
    const before = ask();
    await Promise.resolve();
    scene.mark = 'b';
    assert.deepEqual([await ask(), await before], [2, 1]);
  });

  it('are reused for the same question, selection and dates only', async () => {
    const { ask } = watched();
    const day = new Date('2026-01-01');
    const different = [
      {},
      { startDate: day },
      { endDate: day },
      { isComplete: true },
      { isComplete: false },
      { filters: [{ dimension: code, code: 1 }] },
      { plans: [] },
      { surveyId: surveyId.replace('0', '1') },
    ];
    for (const [at, asked] of different.entries()) assert.equal(await ask(asked), at + 1);
    for (const [at, asked] of different.entries()) assert.equal(await ask(asked), at + 1);
  });

  it('are not used for surveys without a data version, nor for annotations, which change without a batch', async () => {
    const { scene, ask, cross } = watched();
    assert.deepEqual(
      [
        await ask({ filters: [{ dimension: finding, code: 1 }] }),
        await ask({ filters: [{ dimension: finding, code: 1 }] }),
      ],
      [1, 2],
    );
    assert.deepEqual(
      [
        await cross({ rows: finding }),
        await cross({ rows: finding }),
        await cross({ columns: [code, finding] }),
        await cross({ columns: [code, finding] }),
      ],
      [3, 4, 5, 6],
    );
    scene.mark = undefined;
    assert.deepEqual([await ask(), await ask()], [7, 8]);
  });

  it('are counted again after ten seconds, after a failure, and if the result is too large to keep', async () => {
    const { scene, ask } = watched();
    await ask();
    scene.nowMs = 9999;
    assert.equal(await ask(), 1);
    scene.nowMs = 10_000;
    assert.equal(await ask(), 2);
    scene.mark = 'b';
    scene.fails = true;
    await assert.rejects(ask(), /away/);
    scene.fails = false;
    assert.equal(await ask(), 4);
    const apart = watched({ areServersApart: true });
    await apart.ask();
    apart.scene.nowMs = 1000;
    assert.equal(await apart.ask(), 2, 'sooner where another server may have less');
    const many = watched({ figures: 23_001 });
    assert.deepEqual([await many.ask(), await many.ask()], [1, 2]);
    const words = (length: number): CountResult => ({
      kind: 'text',
      counts: Array.from({ length: 50 }, (_, at) => ({ key: `${at}`.padEnd(length, 'x'), count: 1 })),
    });
    const [short, long] = [watched({ result: words(20) }), watched({ result: words(20_000) })];
    assert.deepEqual(
      [await short.ask(), await short.ask(), await long.ask(), await long.ask()],
      [1, 1, 1, 2],
      'or few and long',
    );
  });

  it('include the overlaps of as many columns as can be compared, in a few of the tables', async () => {
    const { scene, cross } = watched({ overlaps: 19_900 });
    assert.deepEqual([await cross(), await cross()], [1, 1]);
    scene.mark = 'b';
    assert.deepEqual([await cross(), await cross()], [2, 2], 'until the next batch');
    // At most ten large results are kept, of which the least recently used leaves first.
    for (let at = 0; at < 11; at += 1) await cross({ startDate: new Date(at) });
    assert.deepEqual([await cross({ startDate: new Date(10) }), await cross()], [13, 14]);
  });
});
