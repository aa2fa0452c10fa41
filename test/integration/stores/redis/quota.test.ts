import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Outcome, outcomes, takesSeat } from '../../../../src/domain/outcome.ts';
import {
  announceQuota,
  type CollectorSeats,
  giveSeatBack,
  type SeatCount,
  type SeatDecision,
  takeCollectorSeat,
} from '../../../../src/domain/quotas/quota.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { announceSurvey, appendix, type OpenIntake, openIntake, submittedAt } from '../../../support/intake.ts';

const sequences = 60;
/** Few enough that the submissions of a tick are decided together, as the model takes them: fifteen at most. */
const sequencesAtOnce = 3;
const steps = 60;

/** A generator of numbers below n, always the same for a seed. */
function chanceOf(seed: number) {
  let state = seed;
  return (n: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

const codeOf: Record<SeatDecision | 'collector full', string> = {
  accepted: 'ACCEPTED',
  filled: 'FILLED',
  refused: 'QUOTA',
  'collector full': 'COLLECTOR_FULL',
};

interface Given {
  responseId: string;
  outcome: Outcome;
  /** Code of its collector. */
  collector: number;
}

/**
 * The order in which the script takes the submissions of a tick: groups of complete ones before single ones, and each by
 * collector, in the order in which these come.
 */
function inScriptOrder(given: readonly Given[]): Given[] {
  const nameOf = ({ outcome, collector }: Given) => `${outcome === 'COMPLETED'} ${collector}`;
  const names = [...new Set(given.map(nameOf))].sort(
    (one, other) => Number(other.startsWith('true')) - Number(one.startsWith('true')),
  );
  return names.flatMap((name) => given.filter((one) => nameOf(one) === name));
}

describe('the scripts of the intake', () => {
  const shards = createShards(2);
  let intake: OpenIntake['intake'];
  let close: OpenIntake['close'] | undefined;
  before(async () => {
    ({ intake, close } = await openIntake(shards));
  });
  after(() => close?.());

  /** Random submissions, deletions and changes of the quotas, each in Redis and in the model. */
  async function compareSequence(seed: number): Promise<void> {
    const chance = chanceOf(seed);
    const anyQuota = (most: number) => (chance(4) === 0 ? null : 1 + chance(most));
    let revision = 1;
    let seats: SeatCount = { quota: anyQuota(8), completed: 0, isFilled: false };
    let collectors: CollectorSeats[] = [0, 1, 2].map(() => ({ quota: anyQuota(5), completed: 0 }));
    const announced = () => collectors.map(({ quota }, code) => ({ code, quota, completed: 0 }));
    const surveyId = await announceSurvey(intake, {
      ...(seats.quota !== null && { quota: seats.quota }),
      collectors: announced(),
    });
    const accepted: Given[] = [];
    const happened: string[] = [];

    const submit = async (): Promise<void> => {
      const isGroup = chance(2) === 0;
      const given = Array.from(
        { length: 1 + chance(5) },
        (): Given => ({
          responseId: newId(),
          outcome: isGroup ? 'COMPLETED' : (outcomes[chance(outcomes.length)] ?? 'COMPLETED'),
          collector: chance(collectors.length),
        }),
      );
      const codes = new Map<Given, string>();
      await Promise.all(
        given.map(async (one) => {
          const state = one.outcome === 'PARTIAL' ? { observedVersion: 0, savedState: '{}' } : {};
          codes.set(one, (await intake.append(appendix(surveyId, { revision, ...one, ...state }))).code);
        }),
      );
      for (const one of inScriptOrder(given)) {
        const ofCollector = collectors[one.collector] ?? assert.fail();
        const [decision, next, nextOfCollector] = takeCollectorSeat(seats, ofCollector, one.outcome);
        seats = next;
        collectors = collectors.with(one.collector, nextOfCollector);
        happened.push(`${one.outcome} by ${one.collector}: ${decision}`);
        assert.equal(codes.get(one), codeOf[decision], `seed ${seed}: ${happened.join(', ')}`);
        if (decision === 'accepted' || decision === 'filled') accepted.push(one);
      }
    };

    const remove = async (): Promise<void> => {
      const [response] = accepted.splice(chance(accepted.length), 1);
      if (!response) return;
      await intake.deleteResponse({ surveyId, submittedAtMs: submittedAt, row: '["gone"]', ...response });
      if (takesSeat(response.outcome)) {
        seats = giveSeatBack(seats);
        const { quota, completed } = collectors[response.collector] ?? assert.fail();
        collectors = collectors.with(response.collector, { quota, completed: completed - 1 });
      }
      happened.push(`deleted one that is ${response.outcome}`);
    };

    const announce = async (): Promise<void> => {
      revision += 1;
      seats = announceQuota(seats, anyQuota(12));
      collectors = collectors.map(({ completed }) => ({ quota: anyQuota(8), completed }));
      const counts = { total: 0, completed: 0 };
      const { quota } = seats;
      await intake.announce({ surveyId, revision, quota, codePositions: 3, ...counts, collectors: announced() });
      happened.push(`quota ${quota}, of collectors ${collectors.map((one) => one.quota).join(' ')}`);
    };

    for (let step = 0; step < steps; step += 1) {
      const choice = chance(10);
      await (choice < 6 ? submit() : choice < 8 ? remove() : announce());
      const counts = await intake.counts(surveyId);
      const filling = await intake.filling(surveyId);
      const byCollector = await intake.completedByCollector(surveyId, [0, 1, 2]);
      assert.deepEqual(
        { counts, isFilled: filling !== undefined, byCollector: [...(byCollector?.values() ?? [])] },
        {
          counts: { total: accepted.length, completed: seats.completed },
          isFilled: seats.isFilled,
          byCollector: collectors.map(({ completed }) => completed),
        },
        `seed ${seed}: ${happened.join(', ')}`,
      );
    }
  }

  it('take and free the seats of a survey and of its collectors as src/domain/quotas/quota.ts does, in random orders of events', async () => {
    for (let seed = 1; seed <= sequences; seed += sequencesAtOnce)
      await Promise.all(Array.from({ length: sequencesAtOnce }, (_, n) => compareSequence(seed + n)));
  });
});
