import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Outcome, outcomes, takesSeat } from '../../../../src/domain/outcome.ts';
import {
  announceQuota,
  giveSeatBack,
  type SeatCount,
  type SeatDecision,
  takeSeat,
} from '../../../../src/domain/quotas/quota.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { announceSurvey, appendix, type OpenIntake, openIntake, submittedAt } from '../../../support/intake.ts';

const sequences = 60;
const steps = 60;

/** A generator of numbers below n, always the same for a seed. */
function chanceOf(seed: number) {
  let state = seed;
  return (n: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

const codeOf: Record<SeatDecision, string> = { accepted: 'ACCEPTED', filled: 'FILLED', refused: 'QUOTA' };

describe('the scripts of the intake', () => {
  const shards = createShards(2);
  let intake: OpenIntake['intake'];
  let close: OpenIntake['close'] | undefined;
  before(async () => {
    ({ intake, close } = await openIntake(shards));
  });
  after(() => close?.());

  /** Random submissions, deletions and changes of the quota, each in Redis and in the model. */
  async function compareSequence(seed: number): Promise<void> {
    const chance = chanceOf(seed);
    let revision = 1;
    let seats: SeatCount = { quota: chance(4) === 0 ? null : 1 + chance(8), completed: 0, isFilled: false };
    const surveyId = await announceSurvey(intake, seats.quota === null ? {} : { quota: seats.quota });
    const accepted: { responseId: string; outcome: Outcome }[] = [];
    const happened: string[] = [];

    const submit = async (): Promise<void> => {
      // Submissions of one tick: complete ones without a state travel as a group, the others one by one.
      const isGroup = chance(2) === 0;
      const given = Array.from({ length: 1 + chance(5) }, (): { responseId: string; outcome: Outcome } => ({
        responseId: newId(),
        outcome: isGroup ? 'COMPLETED' : (outcomes[chance(outcomes.length)] ?? 'COMPLETED'),
      }));
      const results = await Promise.all(
        given.map((one) =>
          intake.append(
            appendix(surveyId, {
              revision,
              ...one,
              ...(one.outcome === 'PARTIAL' ? { observedVersion: 0, savedState: '{}' } : {}),
            }),
          ),
        ),
      );
      // The script takes groups before single submissions.
      const order = [...given.keys()].sort(
        (a, b) => Number(given[b]?.outcome === 'COMPLETED') - Number(given[a]?.outcome === 'COMPLETED'),
      );
      for (const index of order) {
        const { responseId, outcome } = given[index] ?? { responseId: '', outcome: 'PARTIAL' };
        const [decision, next] = takeSeat(seats, outcome);
        seats = next;
        happened.push(`${outcome}: ${decision}`);
        assert.equal(results[index]?.code, codeOf[decision], `seed ${seed}: ${happened.join(', ')}`);
        if (decision !== 'refused') accepted.push({ responseId, outcome });
      }
    };

    const remove = async (): Promise<void> => {
      const [response] = accepted.splice(chance(accepted.length), 1);
      if (!response) return;
      await intake.deleteResponse({ surveyId, submittedAtMs: submittedAt, row: '["gone"]', ...response });
      if (takesSeat(response.outcome)) seats = giveSeatBack(seats);
      happened.push(`deleted one that is ${response.outcome}`);
    };

    const announce = async (): Promise<void> => {
      revision += 1;
      const quota = chance(4) === 0 ? null : 1 + chance(12);
      await intake.announce({ surveyId, revision, quota, codePositions: 3, total: 0, completed: 0 });
      seats = announceQuota(seats, quota);
      happened.push(`quota ${quota}`);
    };

    for (let step = 0; step < steps; step += 1) {
      const choice = chance(10);
      await (choice < 6 ? submit() : choice < 8 ? remove() : announce());
      const counts = await intake.counts(surveyId);
      const filledRevision = await intake.quotaFilledRevision(surveyId);
      assert.deepEqual(
        { counts, isFilled: filledRevision !== undefined },
        { counts: { total: accepted.length, completed: seats.completed }, isFilled: seats.isFilled },
        `seed ${seed}: ${happened.join(', ')}`,
      );
    }
  }

  it('take and free the seats of a quota as src/domain/quotas/quota.ts does, in random orders of events', async () => {
    await Promise.all(Array.from({ length: sequences }, (_, seed) => compareSequence(seed + 1)));
  });
});
