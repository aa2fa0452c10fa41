import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFormerVersions } from '../../../src/actors/former-versions.ts';
import type { CachedSurvey } from '../../../src/actors/survey-cache.ts';
import { blankSurvey } from '../../support/questions.ts';

const day = 24 * 3600 * 1000;

it('a former version is gone thirty days after it was replaced, also if it was loaded before', async () => {
  const survey = { ...blankSurvey(), version: 3 };
  let [nowMs, loads] = [29 * day, 0];
  const judgedBy = createFormerVersions({
    versions: {
      find: async () => {
        loads += 1;
        return { definition: survey, replacedAt: new Date(0) };
      },
    },
    now: () => nowMs,
  });
  const cached = { survey } as CachedSurvey;
  assert.equal(typeof (await judgedBy(cached, 2)), 'object');
  nowMs = 31 * day;
  assert.deepEqual([await judgedBy(cached, 2), loads], ['gone', 1]);
  assert.equal(await judgedBy(cached, 4), 'never was');
  assert.equal(await judgedBy({ survey: { ...survey, version: 30 } } as CachedSurvey, 10), 'gone');
});
