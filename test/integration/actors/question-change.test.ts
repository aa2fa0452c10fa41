import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { saveUnlessAnswered } from '../../../src/actors/submissions/question-change.ts';
import type { CachedSurvey } from '../../../src/actors/survey-cache.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { unavailable } from '../../../src/errors.ts';
import { createShards, surveyKey } from '../../../src/stores/redis/intake/shards.ts';
import { eventually } from '../../support/eventually.ts';
import { announceSurvey, appendix, type OpenIntake, openIntake } from '../../support/intake.ts';
import { surveyOf } from '../../support/path-surveys.ts';

/** The intake is a real one; the row of the survey is in memory. */
describe('a change of what a question means', () => {
  let open: OpenIntake;
  const shards = createShards(1);
  before(async () => {
    open = await openIntake(shards);
  });
  after(() => open?.close());

  async function setUp() {
    const { survey: plain, questions } = surveyOf([{ type: 'MULTIPLE_CHOICE', options: [{ text: 'a' }] }]);
    const surveyId = await announceSurvey(open.intake);
    const question = { ...(questions[0] ?? assert.fail()), surveyId };
    const row: SurveyWithQuestions = { ...plain, id: surveyId, revision: 1, questions: [question] };
    const state = { row, isDatabaseAway: false, looks: 0 };
    const announce = async ({ revision }: Pick<SurveyWithQuestions, 'revision'>) => {
      const counts = { total: 0, completed: 0 };
      await open.intake.announce({ surveyId, revision, quota: null, codePositions: 3, ...counts });
    };
    const actors = {
      sync: async () => ({ survey: state.row }) as CachedSurvey,
      announce,
      async change() {
        state.looks += 1;
        if (state.isDatabaseAway) throw unavailable('The control plane cannot be reached');
        await announce(state.row);
        return state.row;
      },
    };
    const deps = { actors, hasAnswers: async () => false, freezeSubmissions: open.intake.freeze };
    return {
      state,
      announce,
      save: (steps: (check: () => Promise<void>) => Promise<SurveyWithQuestions>) =>
        saveUnlessAnswered(deps, question, (assertUnchanged) => steps(async () => assertUnchanged(state.row))),
      /** What becomes of an answer to the question as it was, or under another revision. */
      answer: async (revision = 1) => (await open.intake.append(appendix(surveyId, { revision }))).code,
      /** The intake loses what it knows of the survey. */
      lose: () => open.plain.del(surveyKey(shards.of(surveyId), surveyId)),
      /** Makes the freeze of the survey that much older. */
      async age(ms: number): Promise<void> {
        const key = surveyKey(shards.of(surveyId), surveyId);
        const [until, token] = (await open.plain.hget(key, 'held'))?.split('.') ?? [];
        await open.plain.hset(key, 'held', `${Number(until) - ms}.${token}`);
      },
    };
  }

  it('lets no answer to the former question in while its commit takes long', async () => {
    const { state, save, answer, age, announce } = await setUp();
    await save(async (check) => {
      await check();
      await age(15_000);
      assert.equal(await answer(), 'FROZEN');
      state.row = { ...state.row, revision: 2 };
      await announce(state.row);
      return state.row;
    });
    assert.deepEqual([await answer(), await answer(2)], ['STALE', 'ACCEPTED']);
  });

  it('is refused if its freeze ended before the last check', async () => {
    const { save, answer, age } = await setUp();
    const changed = save(async (check) => {
      await age(15_000);
      assert.equal(await answer(), 'ACCEPTED');
      await check();
      return assert.fail('it is not saved');
    });
    await assert.rejects(changed, { code: 'SERVICE_UNAVAILABLE' });
  });

  it('is refused if its freeze ended by the clock of this process, also where that of the intake was set back', async (test) => {
    const { save } = await setUp();
    const clock = performance.now.bind(performance);
    const changed = save(async (check) => {
      test.mock.method(performance, 'now', () => clock() + 15_000);
      await check();
      return assert.fail('the change is saved');
    });
    await assert.rejects(changed, { code: 'SERVICE_UNAVAILABLE' });
  });

  it('lets submissions go on as soon as it is known not to be saved', async () => {
    const { save, answer } = await setUp();
    const changed = save(async (check) => {
      await check();
      throw new Error('the definition is too large');
    });
    await assert.rejects(changed, /too large/);
    await eventually(async () => assert.equal(await answer(), 'ACCEPTED'), 5000);
  });

  it('is announced once the database says that it was saved although its reply was lost', async () => {
    const { state, save, answer, age } = await setUp();
    const changed = save(async (check) => {
      await check();
      state.isDatabaseAway = true;
      state.row = { ...state.row, revision: 2 };
      throw unavailable('The control plane did not answer in time');
    });
    await assert.rejects(changed, { code: 'SERVICE_UNAVAILABLE' });
    await age(15_000);
    assert.equal(await answer(), 'FROZEN');
    await eventually(() => assert.ok(state.looks > 1));
    assert.equal(await answer(), 'FROZEN');
    state.isDatabaseAway = false;
    await eventually(async () => assert.equal(await answer(), 'STALE'));
  });

  it('ends its freeze also in an intake that had lost the survey', async () => {
    const { state, save, answer, announce, lose } = await setUp();
    await lose();
    await save(async (check) => {
      await check();
      state.row = { ...state.row, revision: 2 };
      await announce(state.row);
      return state.row;
    });
    assert.deepEqual([await answer(), await answer(2)], ['STALE', 'ACCEPTED']);
  });
});
