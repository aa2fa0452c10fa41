import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { createLog } from '../../../../src/log.ts';
import { createDefinitionBackfill } from '../../../../src/pipelines/maintenance/definition-backfill.ts';

describe('definitions that Redis lacks', () => {
  /** Redis with no room for surveys whose id begins with `large`; `run` gives the surveys that it has loaded. */
  function backfilled(ids: readonly string[]) {
    const surveys = ids.map((id) => ({ id, revision: 1 }));
    const scene = { nowMs: 0, isRedisAway: false, surveys, stored: new Set<string>() };
    let loaded: string[] = [];
    const nameOf = ({ id, revision }: { id: string; revision: number }) => `${id}:${revision}`;
    const backfill = createDefinitionBackfill({
      surveys: {
        open: async () => scene.surveys,
        load: async (id) => {
          loaded.push(id);
          return scene.surveys.find((survey) => survey.id === id) as SurveyWithQuestions;
        },
      },
      definitions: { findMissing: async (asked) => asked.filter((survey) => !scene.stored.has(nameOf(survey))) },
      actors: {
        announce: async (survey) => {
          if (scene.isRedisAway) throw new Error('away');
          if (!survey.id.startsWith('large')) scene.stored.add(nameOf(survey));
        },
      },
      log: createLog('silent'),
      monotonicMs: () => scene.nowMs,
    });
    const run = async () => {
      loaded = [];
      await backfill();
      return loaded;
    };
    return { scene, run };
  }

  it('are loaded again only after an hour where they found no room, or once the survey has changed', async () => {
    const { scene, run } = backfilled(['large', 'larger']);
    assert.deepEqual([await run(), await run()], [['large', 'larger'], []]);
    scene.surveys = [
      { id: 'large', revision: 1 },
      { id: 'larger', revision: 2 },
    ];
    assert.deepEqual([await run(), await run()], [['larger'], []]);
    scene.nowMs = 3_600_000;
    assert.deepEqual((await run()).sort(), ['large', 'larger']);
  });

  it('are stored at the next run where they were lost again, or Redis was away', async () => {
    const { scene, run } = backfilled(['small']);
    scene.isRedisAway = true;
    assert.deepEqual(await run(), ['small']);
    scene.isRedisAway = false;
    assert.deepEqual([await run(), await run()], [['small'], []]);
    scene.stored.clear();
    assert.deepEqual(await run(), ['small']);
  });
});
