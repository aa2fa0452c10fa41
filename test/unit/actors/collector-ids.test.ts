import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCollectorIds } from '../../../src/actors/survey-lookup.ts';
import type { Collector } from '../../../src/domain/collectors/collector.ts';
import type { SurveyCollectors } from '../../../src/stores/postgres/surveys.ts';

/** Surveys of so many collectors each, with the codes 0, 1, …; `reads` counts how often one was read. */
function surveysOf(collectorCount: number) {
  const counted = { reads: 0 };
  const ids = createCollectorIds({
    findCollectors: async (surveyId) => {
      counted.reads += 1;
      const collectors = Array.from(
        { length: collectorCount },
        (_, code) => ({ id: `${surveyId}/${code}`, code }) as Collector,
      );
      return { collectors, collectorSlot: 0, slotCounts: { codes: 1 } } as unknown as SurveyCollectors;
    },
  });
  return { ids, counted };
}
const inTurn = async (ids: ReturnType<typeof createCollectorIds>, surveys: number, code: number) => {
  for (let survey = 0; survey < surveys; survey += 1) assert.equal(await ids(`${survey}`, [code]), `${survey}/${code}`);
};

describe('the collectors by which responses came', () => {
  it('are read once for each of many surveys that take responses in turn', async () => {
    const { ids, counted } = surveysOf(2);
    for (let round = 0; round < 3; round += 1) await inTurn(ids, 2000, 1);
    assert.equal(counted.reads, 2000);
  });

  it('are forgotten rather than kept without bound', async () => {
    const { ids, counted } = surveysOf(1000);
    await inTurn(ids, 60, 999);
    assert.equal(counted.reads, 60);
    await inTurn(ids, 60, 999);
    assert.ok(counted.reads > 60, 'sixty thousand are not all kept');
  });
});
