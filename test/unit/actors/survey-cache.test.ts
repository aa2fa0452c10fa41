import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSurveyActors } from '../../../src/actors/survey-actors.ts';
import { compressSurvey, decompressSurvey } from '../../../src/actors/survey-cache.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { createLog } from '../../../src/log.ts';
import { fullSurvey } from '../../support/questions.ts';

const { survey } = fullSurvey();

function actorsOf(loaded: SurveyWithQuestions) {
  const seen = { nowMs: Date.parse('2026-03-01T00:00:00Z'), loads: 0 };
  const actors = createSurveyActors({
    audit: { record: async () => undefined },
    surveys: {
      load: async () => {
        seen.loads += 1;
        return loaded;
      },
      change: () => Promise.reject(new Error('not asked for')),
    },
    intake: {
      announce: async () => true,
      restoreDeleted: async () => true,
      revision: async () => undefined,
      counts: async () => undefined,
      filling: async () => undefined,
      markDeleted: async () => undefined,
    },
    countResponses: async () => ({ total: 0, complete: 0 }),
    broadcast: () => undefined,
    now: () => seen.nowMs,
    monotonicMs: () => seen.nowMs,
    log: createLog('silent'),
    metrics: { surveysCached: () => undefined },
  });
  return { actors, seen };
}

describe('an unused survey in the cache', () => {
  it('is unchanged after compression, which takes much less memory', () => {
    const packed = compressSurvey(survey);
    assert.deepEqual(decompressSurvey(packed), survey);
    assert.ok(packed.length < JSON.stringify(survey).length / 3, `${packed.length} bytes`);
  });

  it('is compressed after a while and restored without a query', async () => {
    const { actors, seen } = actorsOf(survey);
    try {
      const first = await actors.lookUp(survey.id);
      assert.ok(first?.actor.getSnapshot().hasTag('accepting'));
      actors.sweep();
      assert.equal(actors.peek(survey.id), first, 'what is in use stays as it is');
      seen.nowMs += 21_000;
      actors.sweep();
      assert.equal(first?.actor.getSnapshot().status, 'stopped');
      const again = actors.peek(survey.id);
      assert.notEqual(again, first);
      assert.deepEqual(again?.survey, survey);
      assert.ok(again?.actor.getSnapshot().hasTag('accepting'));
      assert.equal(actors.peek(survey.id), again);
      assert.equal(seen.loads, 1);
    } finally {
      actors.stop();
    }
  });

  it('is evicted at last, and its revision is compared with notifications until then', async () => {
    const { actors, seen } = actorsOf(survey);
    try {
      await actors.lookUp(survey.id);
      seen.nowMs += 21_000;
      actors.sweep();
      actors.onRevisionPublished(survey.id, survey.revision);
      assert.equal(seen.loads, 1);
      actors.onRevisionPublished(survey.id, survey.revision + 1);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(seen.loads, 2);
      seen.nowMs += 11 * 60_000;
      actors.sweep();
      assert.equal(actors.peek(survey.id), undefined);
    } finally {
      actors.stop();
    }
  });
});
