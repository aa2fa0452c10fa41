import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AiFixture, openSurvey } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { resultOfWork } from '../support/ai-work.ts';
import { eventually } from '../support/eventually.ts';
import { exportFile } from '../support/exports.ts';
import { useAi } from '../support/use-ai.ts';

/** An answer names its themes between bars; nothing is merged. */
function judge({ user, schema }: SeenCall): unknown {
  const data = JSON.parse(user[0] ?? '{}');
  if ('same' in schema.properties)
    return { same: data.themes.slice(1).map((_: unknown, at: number) => ({ n: at + 2, as: 1 })) };
  return {
    answers: data.answers.map(({ n, text }: { n: number; text: string }) => ({
      n,
      sentiment: 'neutral',
      ...(JSON.stringify(schema).includes('themes') && { themes: text.split('|').slice(1) }),
    })),
  };
}

/** The same, and no name is found to mean another. */
function judgeApart(call: SeenCall): unknown {
  return 'same' in call.schema.properties ? { same: [] } : judge(call);
}

describe('names that people give to themes', () => {
  let ai: AiFixture['ai'];
  let admin: AiFixture['admin'];
  let service: AiFixture['service'];
  useAi((scene) => ({ ai, admin, service } = scene), { env: { AI_BATCH_SIZE: '2' }, answer: judgeApart });

  const analysed = async (...answers: string[]) => {
    const survey = await openSurvey(admin, answers);
    const { id, questionId } = survey;
    const analyse = async (provider = 'openai'): Promise<Record<string, number>> =>
      counted((await resultOfWork(admin, `/ai/surveys/${id}/analyze`, { analysisType: 'themes', provider })).themes);
    await analyse();
    const total = async (filter: string): Promise<number> =>
      (await admin.get(`/analytics/surveys/${id}?filter=${encodeURIComponent(filter)}`)).totalResponses;
    return {
      ...survey,
      analyse,
      total,
      name: async (...names: [theme: string, name: string | null][]) =>
        (
          await admin.put(`/ai/surveys/${id}/theme-names`, {
            names: names.map(([theme, name]) => ({ theme, name })),
          })
        ).undo,
      /** Themes as each view of the API has them, which must be the same. */
      themes: async () => {
        const found = counted((await admin.get(`/ai/surveys/${id}/questions/${questionId}/annotations`)).themes);
        const texts = await admin.get(`/responses/surveys/${id}/questions/${questionId}/texts?limit=200`);
        const ofTexts: Record<string, number> = {};
        for (const { themes } of texts) for (const theme of themes) ofTexts[theme] = (ofTexts[theme] ?? 0) + 1;
        assert.deepEqual(ofTexts, found, 'the answers');
        for (const [theme, count] of Object.entries(found)) {
          assert.equal(await total(`theme:${theme}`), count, theme);
          assert.equal(await total(`theme:${questionId}:${theme}`), count, theme);
        }
        return found;
      },
      add: async (text: string) => {
        const before = (await admin.get(`/analytics/surveys/${id}`)).totalResponses;
        const reply = await admin.submit(id, { answers: [{ questionId, textValue: text }] });
        assert.equal(reply.status, 201);
        await eventually(async () =>
          assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, before + 1),
        );
      },
    };
  };
  const counted = (themes: { name: string; count: number }[]) =>
    Object.fromEntries(themes.map(({ name, count }) => [name, count]));

  it('hold at once in answers, counts, filters, crosstabs and analyses, and can be taken back', async () => {
    const survey = await analysed('a|Queue', 'b|Slow service', 'c|Queue|Slow service', 'd|Soup');
    assert.deepEqual(await survey.themes(), { Queue: 2, 'Slow service': 2, Soup: 1 });
    const undo = await survey.name(['queue', 'Waiting'], ['Slow service', 'Waiting'], ['Soup', 'Broth']);
    // A response with both is one.
    assert.deepEqual(await survey.themes(), { Waiting: 3, Broth: 1 });
    assert.deepEqual(await survey.analyse(), { Waiting: 3, Broth: 1 });
    // What was the name of a theme leads to it, as in addresses that somebody kept.
    assert.equal(await survey.total('theme:Queue'), 3);
    const { rows } = await admin.post(`/analytics/surveys/${survey.id}/crosstab`, {
      questionId1: 'theme',
      questionId2: 'outcome',
    });
    assert.deepEqual(
      rows.map(({ value }: any) => value),
      ['Waiting', 'Broth'],
    );
    assert.deepEqual((await admin.get(`/ai/surveys/${survey.id}/theme-names`)).names, [
      { theme: 'Queue', name: 'Waiting' },
      { theme: 'Slow service', name: 'Waiting' },
      { theme: 'Soup', name: 'Broth' },
    ]);
    const exported = async (theme: string) => {
      const body = { format: 'JSON', filters: [`theme:${theme}`] };
      const { text } = await exportFile(service, admin, admin.token ?? '', survey.id, body);
      return survey.responseIds.filter((id) => text.includes(id)).length;
    };
    assert.deepEqual([await exported('Waiting'), await exported('queue')], [3, 3]);
    const [event] = await admin.get(`/audit?surveyId=${survey.id}&action=ai.themes-named`);
    assert.deepEqual([event.objectId, event.details], [survey.id, { themes: 3 }]);
    const undone = await admin.put(`/ai/surveys/${survey.id}/theme-names`, { names: undo });
    assert.equal(undone.undo.length, 3);
    assert.deepEqual(await survey.themes(), { Queue: 2, 'Slow service': 2, Soup: 1 });
    assert.deepEqual(await survey.analyse(), { Queue: 2, 'Slow service': 2, Soup: 1 });
  });

  it('are kept by later analyses, of other providers too, which are told the names', async () => {
    const survey = await analysed('a|Queue', 'b|Soup');
    await survey.name(['Queue', 'Waiting'], ['Soup', 'Broth']);
    await survey.add('c|Queues');
    await survey.add('d|Waiting');
    ai.calls.length = 0;
    assert.deepEqual(await survey.analyse(), { Waiting: 3, Broth: 1 });
    assert.deepEqual(await survey.themes(), { Waiting: 3, Broth: 1 });
    const told = JSON.parse(ai.calls[0]?.user[0] ?? '{}').knownThemes;
    assert.deepEqual(told.toSorted(), ['Broth', 'Waiting']);
    // This one finds that all of them mean the same: what somebody has decided stays.
    ai.answer = judge;
    assert.deepEqual(await survey.analyse('anthropic'), { Waiting: 3, Broth: 1 });
    assert.deepEqual(await survey.themes(), { Waiting: 3, Broth: 1 });
  });

  it('are not lost when an analysis is under way', async () => {
    const survey = await analysed('a|Queue', 'b|Soup');
    await survey.add('c|Queue');
    await survey.add('d|Staff');
    let goOn = (): void => undefined;
    ai.holdUntil = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    ai.answer = judge;
    ai.calls.length = 0;
    try {
      const analysis = survey.analyse();
      await eventually(() => assert.ok(ai.calls.length > 0));
      await survey.name(['Queue', 'Waiting'], ['Soup', 'Waiting']);
      assert.deepEqual(await survey.themes(), { Waiting: 2 });
      goOn();
      // The model says that Staff means Queue, which nobody has decided.
      assert.deepEqual(await analysis, { Waiting: 4 });
      assert.deepEqual(await survey.themes(), { Waiting: 4 });
    } finally {
      goOn();
      ai.holdUntil = undefined;
    }
  });

  it('are refused where they cannot be: unknown themes, no name, the same name, before an analysis', async () => {
    const survey = await analysed('a|Queue', 'b|Soup');
    const refusal = async (names: unknown) => {
      const { status, body } = await admin.call('PUT', `/ai/surveys/${survey.id}/theme-names`, { body: { names } });
      return [status, body.code, ...(body.details ?? []).map(({ path }: any) => path)];
    };
    for (const [names, ...paths] of [
      [[], 'names'],
      [[{ theme: 'Staff', name: 'Service' }], 'names.0.theme'],
      [[{ theme: 'Queue', name: 'Queue' }], 'names.0.name'],
      [[{ theme: 'Queue', name: '  ' }], 'names.0.name'],
      [[{ theme: '', name: 'Service' }], 'names.0.theme'],
      [[{ theme: 'Queue' }], 'names.0.name'],
      [[{ theme: 'Queue', name: 'x'.repeat(101) }], 'names.0.name'],
      [[{ theme: 'Queue', name: 'a\u0000b' }], 'names.0.name'],
      [
        [
          { theme: 'Queue', name: 'Soup' },
          { theme: 'Soup', name: 'Queue' },
        ],
        'names.0.name',
        'names.1.name',
      ],
      [
        [
          { theme: 'Queue', name: 'Waiting' },
          { theme: 'queues', name: 'Time' },
        ],
        'names.1.theme',
      ],
    ] as const)
      assert.deepEqual(await refusal(names), [400, 'VALIDATION_ERROR', ...paths], JSON.stringify(names));
    assert.deepEqual(await survey.themes(), { Queue: 1, Soup: 1 });
    const unread = await openSurvey(admin, ['x']);
    const early = await admin.call('PUT', `/ai/surveys/${unread.id}/theme-names`, {
      body: { names: [{ theme: 'Queue', name: 'Waiting' }] },
    });
    assert.deepEqual([early.status, early.body.details[0].path], [400, 'names.0.theme']);
  });

  it('of two people at once are both kept, and a repeated call changes nothing', async () => {
    const survey = await analysed('a|Queue', 'b|Soup', 'c|Staff', 'd|Price');
    await Promise.all([
      survey.name(['Queue', 'Waiting']),
      survey.name(['Soup', 'Food']),
      survey.name(['Staff', 'Service']),
      survey.name(['Price', 'Cost']),
    ]);
    const expected = { Waiting: 1, Food: 1, Service: 1, Cost: 1 };
    assert.deepEqual(await survey.themes(), expected);
    assert.deepEqual(await survey.name(['Queue', 'Waiting']), []);
    assert.deepEqual(await survey.themes(), expected);
  });

  it('are not there when the last answer with a theme is deleted', async () => {
    const survey = await analysed('a|Bobs desk', 'b|Soup');
    await survey.name(['Bobs desk', 'Desks']);
    const [first = ''] = survey.responseIds;
    await admin.remove(`/responses/${first}`);
    await eventually(async () => assert.deepEqual(await survey.themes(), { Soup: 1 }));
    assert.deepEqual(await survey.analyse(), { Soup: 1 });
  });
});
