import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFormerVersions } from '../../../src/actors/former-versions.ts';
import type { CachedSurvey } from '../../../src/actors/survey-cache.ts';
import { blankSurvey } from '../../support/questions.ts';

const day = 24 * 3600 * 1000;

it('a former version is gone thirty days after it was replaced, also if it was loaded before', async () => {
  const survey = { ...blankSurvey(), version: 3 };
  let [nowMs, loads] = [29 * day, 0];
  const { forSubmission: judgedBy } = createFormerVersions({
    versions: {
      find: async () => {
        loads += 1;
        return { definition: survey, createdAt: new Date(0), replacedAt: new Date(0) };
      },
    },
    now: () => nowMs,
  });
  const cached = { survey } as CachedSurvey;
  assert.equal(typeof (await judgedBy(cached, 2)), 'object');
  nowMs = 30 * day;
  assert.equal(typeof (await judgedBy(cached, 2)), 'object');
  nowMs += 1;
  assert.deepEqual([await judgedBy(cached, 2), loads], ['gone', 1]);
  assert.equal(await judgedBy(cached, 4), 'never was');
});

it('a former version is gone once it is more than twenty versions back', async () => {
  const survey = { ...blankSurvey(), version: 30 };
  const { forSubmission: judgedBy } = createFormerVersions({
    versions: { find: async () => ({ definition: survey, createdAt: new Date(0), replacedAt: new Date(0) }) },
    now: () => day,
  });
  const cached = { survey } as CachedSurvey;
  assert.equal(typeof (await judgedBy(cached, 10)), 'object');
  assert.equal(await judgedBy(cached, 9), 'gone');
});

it('a response that is continued may be for thirty days from its last save', async () => {
  const survey = { ...blankSurvey(), version: 3 };
  const { forSubmission: judgedBy } = createFormerVersions({
    versions: {
      find: async (_, version) => ({
        definition: survey,
        createdAt: new Date(0),
        replacedAt: version === 2 ? new Date(50 * day) : null,
      }),
    },
    now: () => 90 * day,
  });
  const cached = { survey } as CachedSurvey;
  assert.equal(await judgedBy(cached, 2), 'gone');
  assert.equal(typeof (await judgedBy(cached, 2, 61 * day)), 'object');
  assert.equal(await judgedBy(cached, 2, 59 * day), 'gone');
  // A version that nothing has replaced is as good as the present one.
  assert.equal(typeof (await judgedBy(cached, 1, 1 * day)), 'object');
});
