import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { createCloseEndedSurveys } from '../../../../src/pipelines/maintenance/close-ended-surveys.ts';

const log = createLog('silent');

describe('surveys whose end has come', () => {
  it('are closed, even if closing others fails', async () => {
    const closed: string[] = [];
    const close = createCloseEndedSurveys({
      surveys: { findDueToClose: async ({ now }) => (now.getTime() === 5 ? ['one', 'newer', 'two'] : []) },
      actors: {
        timeReached: async (surveyId) => {
          if (surveyId === 'newer') throw unavailable('only a newer version can');
          closed.push(surveyId);
          return undefined as never;
        },
      },
      now: () => 5,
      log,
    });
    await close();
    assert.deepEqual(closed, ['one', 'two']);
  });
});
