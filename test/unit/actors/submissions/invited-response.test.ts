import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
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

const isAway = async (): Promise<undefined> => {
  throw unavailable('PostgreSQL is away', 2);
};

/** Continues a response of an invitation by its resumeToken, while PostgreSQL is away unless it says otherwise. */
async function continueWithout(state: object, findOfResponse = isAway) {
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
      findOfResponse,
    },
    secrets: { resumeToken: () => 'token', isResumeToken: () => true },
  });
  const submission = { ...emptySubmission, responseId, resumeToken: 'token' };
  const { kind } = await submit({ ...request(undefined), submission });
  return { kind, invited: appended.at(-1)?.invited };
}

describe('a response of an invitation that goes on by its resumeToken alone', () => {
  it('is accepted without PostgreSQL, and counts for the invitation that its saved state names', async () => {
    assert.deepEqual(await continueWithout({ invitationHash: 'ab'.repeat(32) }), {
      kind: 'accepted',
      invited: { mark: null, burns: false, tokenHash: 'ab'.repeat(32) },
    });
  });

  it('is refused where only PostgreSQL knows its invitation', async () => {
    assert.equal((await continueWithout({})).kind, 'refused');
  });

  it('counts for the invitation that its first save names, where PostgreSQL does not know that yet', async () => {
    assert.deepEqual(await continueWithout({}, async () => undefined), {
      kind: 'accepted',
      invited: { mark: null, burns: false, tokenHash: '' },
    });
  });
});

describe('the uses of invitations to an anonymous survey', () => {
  const minuteMs = 60_000;
  /** Notes uses of a collector's invitations; gives how many are recorded after so many minutes. */
  function watching(t: TestContext) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let isAway = false;
    const recorded: string[] = [];
    const invitations = createInvitations({
      secrets: { invitationHash: () => Buffer.alloc(32, 1), invitationMark: () => 'mark' },
      invitations: {
        findByToken: never,
        findOfResponse: never,
        recordAnonymousUses: async (uses) => {
          if (isAway) throw new Error('PostgreSQL is away');
          recorded.push(...uses.map(({ id }) => id));
        },
      },
      now: () => 0,
      log: createLog('silent'),
    });
    const use = (collectorId: string, count: number, from = 0) => {
      for (let n = from; n < from + count; n += 1)
        invitations.noteUse({ id: `${collectorId}-${n}`, collectorId, isComplete: true, submittedAtMs: 0 });
    };
    const recordedAfter = async (minutes: number): Promise<number> => {
      for (let n = 0; n < minutes; n += 1) {
        t.mock.timers.tick(minuteMs);
        await nextTurn();
      }
      return recorded.length;
    };
    return { use, recordedAfter, setAway: (next: boolean) => (isAway = next), stop: invitations.stop };
  }

  it('are recorded ten of a collector together, fewer after an hour', async (t) => {
    const { use, recordedAfter } = watching(t);
    use('one', 9);
    use('other', 1);
    assert.equal(await recordedAfter(10), 0);
    use('one', 1, 9);
    assert.equal(await recordedAfter(1), 10);
    assert.equal(await recordedAfter(48), 10);
    assert.equal(await recordedAfter(2), 11);
  });

  it('are tried again each minute while PostgreSQL is away, and recorded at the stop however few', async (t) => {
    const { use, recordedAfter, setAway, stop } = watching(t);
    setAway(true);
    use('one', 10);
    assert.equal(await recordedAfter(3), 0);
    setAway(false);
    assert.equal(await recordedAfter(1), 10);
    use('one', 1, 10);
    await stop();
    assert.equal(await recordedAfter(0), 11);
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
  function gathering({ isAway = false } = {}) {
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
          invitations.noteLostUse(invitation);
          throw unavailable('PostgreSQL is away', 2);
        },
      },
      now: () => clock.nowMs,
      log: createLog('silent'),
    });
    return { invitations, recorded, clock };
  }
  /** Shows its token, to which the intake replies with this code. */
  const show = async (
    { invitations, clock }: ReturnType<typeof gathering>,
    code: 'ACCEPTED' | 'OVER_QUOTA' | 'SPENT',
    more: Partial<typeof emptySubmission> = {},
  ) => {
    const submit = bareSubmissions({
      actors: {
        peek: () => ({ ...held, survey: anonymous, compiled: compileSurvey(anonymous) }) as unknown as CachedSurvey,
      },
      intake: {
        append: async ({ mustRefuse }) => ({
          code: mustRefuse && code !== 'SPENT' ? 'REFUSED' : code,
          remaining: 7,
          resetMs: 1000,
          text: '',
        }),
      },
      invitations,
      secrets: { resumeToken: () => 'resume', isResumeToken: never },
      now: () => clock.nowMs,
    });
    return submit({ ...request(undefined), submission: { ...emptySubmission, ...more, invitation: 'token' } });
  };

  it('is listed with the day of its use, though that is recorded on the next one', async () => {
    const scene = gathering();
    assert.equal((await show(scene, 'ACCEPTED')).kind, 'accepted');
    scene.clock.nowMs = afterMidnight;
    await scene.invitations.stop();
    assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete: true, day: '2026-11-28' }]);
  });

  it('is complete once a full quota has ended its response, also with the first part', async () => {
    for (const [code, isComplete] of [
      ['ACCEPTED', false],
      ['OVER_QUOTA', true],
    ] as const) {
      const scene = gathering();
      assert.equal((await show(scene, code, { isComplete: false })).kind, 'accepted');
      await scene.invitations.stop();
      assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete, day: '2026-11-28' }]);
    }
  });

  it('keeps that day, and that it is complete, though its token is shown again while PostgreSQL is away', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const scene = gathering({ isAway: true });
    const { id } = invitation;
    scene.invitations.noteUse({ id, collectorId: list.id, isComplete: true, submittedAtMs: beforeMidnight });
    scene.clock.nowMs = afterMidnight;
    for (let minute = 0; minute < 61; minute += 1) {
      t.mock.timers.tick(60_000);
      await nextTurn();
    }
    assert.deepEqual(scene.recorded, [{ id, isComplete: true, day: '2026-11-28' }]);
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
    scene.invitations.noteUse({
      id: invitation.id,
      collectorId: list.id,
      isComplete: true,
      submittedAtMs: beforeMidnight,
    });
    scene.clock.nowMs = afterMidnight;
    await show(scene, 'SPENT');
    await scene.invitations.stop();
    assert.deepEqual(scene.recorded, [{ id: invitation.id, isComplete: true, day: '2026-11-28' }]);
  });
});
