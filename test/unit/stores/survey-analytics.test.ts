import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CountResult } from '../../../src/domain/questions/contract.ts';
import { registry } from '../../../src/domain/questions/registry.ts';
import type { SurveyCounts } from '../../../src/stores/clickhouse/counts/totals.ts';
import { analyseSurvey } from '../../../src/stores/survey-analytics.ts';
import { blankSurvey, withQuestion } from '../../support/questions.ts';

const hundredths = { min: 0, max: 99.99, step: 0.01 };

describe('the analytics of a survey', () => {
  it('let others run between the longest scales', async () => {
    let survey = blankSurvey();
    for (let n = 0; n < 60; n += 1)
      ({ survey } = withQuestion(survey, { type: 'RATING_SCALE', text: `${n}`, settings: hundredths }));
    const results: CountResult[] = [{ kind: 'codes', counts: new Map([[10_000, 2]]) }];
    const counts: Partial<SurveyCounts> = {
      total: 2,
      counted: 2,
      outcomes: { PARTIAL: 0, COMPLETED: 2, SCREENED_OUT: 0, OVER_QUOTA: 0 },
      byDay: [],
      perQuestion: new Map(survey.questions.map(({ id }) => [id, { results, base: 2, partBases: [] }])),
      notAsked: new Map(),
    };
    let [turns, isDone] = [0, false];
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const { questionStats } = await analyseSurvey({ countSurvey: async () => counts as SurveyCounts }, survey);
    isDone = true;
    assert.equal(questionStats.length, 60);
    assert.equal(questionStats.at(-1)?.distribution['99.99'], 2);
    assert.ok(turns > 5, `${turns} turns of the event loop`);
  });

  it('compute the points of a scale once for all who ask', () => {
    const [one, other] = [1, 2].map(() => {
      const { question } = withQuestion(blankSurvey(), { type: 'SLIDER', text: 'How much?', settings: hundredths });
      const [column] = registry.SLIDER.exportColumns(question);
      return column?.cell.kind === 'point' ? column.cell.points : undefined;
    });
    assert.equal(one?.length, 10_000);
    assert.equal(one, other);
  });
});
