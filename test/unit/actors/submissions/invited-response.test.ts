import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createInvitations } from '../../../../src/actors/submissions/invitation.ts';
import type { CachedSurvey } from '../../../../src/actors/survey-cache.ts';
import { blankCollector } from '../../../../src/domain/collectors/collector.ts';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { unavailable } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
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
      noteLostUse: never,
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

describe('an invitation to an anonymous survey whose use a crash has lost', () => {
  const invitation = {
    id: '01900000-0000-7000-8000-00000000000d',
    collectorId: list.id,
    tokenHash: 'ab'.repeat(32),
    language: null,
    expiresAt: null,
    metadata: {},
    status: 'UNUSED' as const,
  };
  const anonymous = { ...survey, isAnonymous: true };

  /** The invitations of a process, and the uses that it records when it stops. */
  function gathering() {
    const recorded: unknown[] = [];
    const invitations = createInvitations({
      secrets: { invitationHash: () => Buffer.alloc(32, 1), invitationMark: () => 'mark' },
      invitations: {
        findByToken: async () => invitation,
        findOfResponse: never,
        recordAnonymousUses: async (uses) => void recorded.push(...uses),
      },
      now: () => 0,
      log: createLog('silent'),
    });
    return { invitations, recorded };
  }
  /** Shows its token after it was spent. */
  const showAgain = async ({ invitations }: ReturnType<typeof gathering>) => {
    const submit = bareSubmissions({
      actors: {
        peek: () => ({ ...held, survey: anonymous, compiled: compileSurvey(anonymous) }) as unknown as CachedSurvey,
      },
      intake: { append: async () => ({ code: 'SPENT', remaining: 7, resetMs: 1000, text: '' }) },
      invitations,
    });
    return submit({ ...request(undefined), submission: { ...emptySubmission, invitation: 'token' } });
  };

  it('is listed as used once its token is shown again', async () => {
    const scene = gathering();
    const outcome = await showAgain(scene);
    assert.deepEqual(
      outcome.kind === 'refused' && outcome.problem.details && 'reason' in outcome.problem.details
        ? outcome.problem.details.reason
        : outcome.kind,
      'INVITATION_USED',
    );
    await scene.invitations.stop();
    assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete: false }]);
  });

  it('keeps the use that is gathered already', async () => {
    const scene = gathering();
    scene.invitations.noteUse({ id: invitation.id, isComplete: true });
    await showAgain(scene);
    await scene.invitations.stop();
    assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete: true }]);
  });
});
