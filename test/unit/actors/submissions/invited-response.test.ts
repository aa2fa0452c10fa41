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
import { eventually } from '../../../support/eventually.ts';
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

describe('an invitation to an anonymous survey', () => {
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
  const beforeMidnight = Date.parse('2026-11-28T23:59:50Z');
  const afterMidnight = Date.parse('2026-11-29T00:00:50Z');

  /** The invitations of a process, and the uses that it records; the first time only if PostgreSQL is not away. */
  function gathering({ isAway = false, recordAfterMs = 60_000 } = {}) {
    const recorded: unknown[] = [];
    const clock = { nowMs: beforeMidnight };
    let mayFail = isAway;
    const invitations = createInvitations({
      secrets: { invitationHash: () => Buffer.alloc(32, 1), invitationMark: () => 'mark' },
      invitations: {
        findByToken: async () => invitation,
        findOfResponse: never,
        recordAnonymousUses: async (uses) => {
          if (!mayFail) return void recorded.push(...uses);
          mayFail = false;
          invitations.noteLostUse(invitation.id);
          throw unavailable('PostgreSQL is away', 2);
        },
      },
      now: () => clock.nowMs,
      log: createLog('silent'),
      recordAfterMs,
    });
    return { invitations, recorded, clock };
  }
  /** Shows its token, to which the intake replies with this code. */
  const show = async ({ invitations, clock }: ReturnType<typeof gathering>, code: 'ACCEPTED' | 'SPENT') => {
    const submit = bareSubmissions({
      actors: {
        peek: () => ({ ...held, survey: anonymous, compiled: compileSurvey(anonymous) }) as unknown as CachedSurvey,
      },
      intake: {
        append: async ({ mustRefuse }) => ({
          code: mustRefuse && code === 'ACCEPTED' ? 'REFUSED' : code,
          remaining: 7,
          resetMs: 1000,
          text: '',
        }),
      },
      invitations,
      now: () => clock.nowMs,
    });
    return submit({ ...request(undefined), submission: { ...emptySubmission, invitation: 'token' } });
  };

  it('is listed with the day of its use, though that is recorded on the next one', async () => {
    const scene = gathering();
    assert.equal((await show(scene, 'ACCEPTED')).kind, 'accepted');
    scene.clock.nowMs = afterMidnight;
    await scene.invitations.stop();
    assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete: true, day: '2026-11-28' }]);
  });

  it('keeps that day, and that it is complete, though its token is shown again while PostgreSQL is away', async () => {
    const scene = gathering({ isAway: true, recordAfterMs: 1 });
    scene.invitations.noteUse({ id: invitation.id, isComplete: true, submittedAtMs: beforeMidnight });
    scene.clock.nowMs = afterMidnight;
    await eventually(() => assert.equal(scene.recorded.length, 1));
    await scene.invitations.stop();
    assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete: true, day: '2026-11-28' }]);
  });

  it('whose use a crash has lost is listed as used once its token is shown again', async () => {
    const scene = gathering();
    scene.clock.nowMs = afterMidnight;
    const outcome = await show(scene, 'SPENT');
    assert.deepEqual(
      outcome.kind === 'refused' && outcome.problem.details && 'reason' in outcome.problem.details
        ? outcome.problem.details.reason
        : outcome.kind,
      'INVITATION_USED',
    );
    await scene.invitations.stop();
    assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete: false, day: '2026-11-29' }]);
  });

  it('whose token is shown again keeps the use that is gathered already', async () => {
    const scene = gathering();
    scene.invitations.noteUse({ id: invitation.id, isComplete: true, submittedAtMs: beforeMidnight });
    scene.clock.nowMs = afterMidnight;
    await show(scene, 'SPENT');
    await scene.invitations.stop();
    assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete: true, day: '2026-11-28' }]);
  });
});
