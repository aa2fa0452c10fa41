import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CachedSurvey } from '../../../../src/actors/survey-cache.ts';
import { blankCollector } from '../../../../src/domain/collectors/collector.ts';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { unavailable } from '../../../../src/errors.ts';
import type { IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import {
  bareSubmissions,
  emptySubmission,
  held,
  never,
  request,
  responseId,
  surveyId,
} from '../../../support/bare-submissions.ts';
import { blankSurvey } from '../../../support/questions.ts';

const ids = { id: '01900000-0000-7000-8000-00000000000c', surveyId, code: 1, linkId: 'list' };
const list = { ...blankCollector({ ...ids, nowMs: 0 }), kind: 'INVITATION' as const };
const survey = {
  ...blankSurvey(),
  id: surveyId,
  collectors: [list],
  collectorSlot: 0,
  slotCounts: { codes: 1, numbers: 0, texts: 0 },
};
const row = { codes: [1], numbers: [], texts: [] };
const saved = { submittedAtMs: 5, startedAtMs: undefined, language: 'en', respondent: '', metadata: {}, row };

/** Continues a response of an invitation by its resumeToken, while PostgreSQL is away. */
async function continueWithout(state: object) {
  const appended: IntakeSubmission[] = [];
  const submit = bareSubmissions({
    actors: {
      peek: () => ({ ...held, survey, compiled: compileSurvey(survey) }) as unknown as CachedSurvey,
    },
    intake: {
      append: async (appendix) => {
        appended.push(appendix);
        return { code: appendix.mustRefuse ? 'REFUSED' : 'ACCEPTED', remaining: 7, resetMs: 1000, text: '' };
      },
      state: async () => ({
        version: 1,
        isComplete: false,
        surveyId,
        submittedAtMs: 5,
        savedState: JSON.stringify({ ...saved, ...state }),
      }),
    },
    invitations: {
      read: never,
      find: never,
      noteUse: never,
      findOfResponse: async () => {
        throw unavailable('PostgreSQL is away', 2);
      },
    },
    secrets: { resumeToken: () => 'token', isResumeToken: () => true },
  });
  const submission = { ...emptySubmission, responseId, resumeToken: 'token' };
  const { kind } = await submit({ ...request(undefined), submission });
  return { kind, invited: appended.at(-1)?.invited };
}

describe('a response of an invitation that goes on by its resumeToken, without PostgreSQL', () => {
  it('is accepted, and counts for the invitation that its saved state names', async () => {
    assert.deepEqual(await continueWithout({ invitationHash: 'ab'.repeat(32) }), {
      kind: 'accepted',
      invited: { mark: null, burns: false, tokenHash: 'ab'.repeat(32) },
    });
  });

  it('is refused where only PostgreSQL knows its invitation', async () => {
    assert.equal((await continueWithout({})).kind, 'refused');
  });
});
