import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Stores } from '../../src/stores/stores.ts';
import type { AiProviderServer, SeenCall } from '../support/ai-provider.ts';
import { resultOfWork } from '../support/ai-work.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { openStoresOf } from '../support/service-stores.ts';
import { useAi } from '../support/use-ai.ts';

interface Theme {
  name: string;
  count: number;
  responseIds: string[];
}

const dataOf = ({ user }: SeenCall): any => JSON.parse(user[0] ?? '{}');
const isMerge = (call: SeenCall): boolean => 'same' in call.schema.properties;
const namesOf = (call: SeenCall): string[] => dataOf(call).themes.map(({ name }: { name: string }) => name);
/** An answer names its themes between bars. */
const themesIn = (text: string): string[] => text.split('|').slice(1);

/** Finds what the test put there, and merges what it says is one. */
function judging(groups: readonly (readonly string[])[]) {
  return (call: SeenCall): unknown => {
    const data = dataOf(call);
    if (!isMerge(call))
      return {
        answers: data.answers.map(({ n, text }: any) => ({
          n,
          sentiment: 'neutral',
          ...('themes' in call.schema.properties.answers.items.properties && { themes: themesIn(text) }),
        })),
      };
    const names = namesOf(call);
    return {
      same: groups.flatMap((group) =>
        group
          .filter((name) => names.includes(name))
          .slice(1)
          .map((name) => ({
            n: names.indexOf(name) + 1,
            as: names.indexOf(group.find((first) => names.includes(first)) ?? '') + 1,
          })),
      ),
    };
  };
}

describe('AI themes of many answers', () => {
  let ai: AiProviderServer;
  let admin: Client;
  let stores: Stores;
  after(() => stores?.close());
  useAi(
    async (scene) => {
      ({ ai, admin } = scene);
      stores = await openStoresOf(scene.service);
    },
    { env: { AI_BATCH_SIZE: '5' }, answer: judging([]) },
  );

  const openSurvey = async () => {
    const { id } = await admin.create('/surveys', { title: 'Canteen' });
    const opens = [
      await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'What do you think?' }),
      await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'What else?' }),
    ];
    await admin.put(`/surveys/${id}`, { status: 'ACTIVE' });
    const submit = async (texts: string[], more: Record<string, unknown> = {}) => {
      const reply = await admin.submit(id, {
        answers: texts.flatMap((textValue, at) => (textValue === '' ? [] : [{ questionId: opens[at].id, textValue }])),
        ...more,
      });
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      return reply.body.data as { responseId: string; resumeToken: string };
    };
    /** A response whose answers name these themes, one list an answer. */
    const answer = (...lists: string[][]) => submit(lists.map((themes) => `about ${['', ...themes].join('|')}`));
    const analyse = async (provider = 'openai'): Promise<Theme[]> =>
      (await resultOfWork(admin, `/ai/surveys/${id}/analyze`, { analysisType: 'themes', provider })).themes;
    const total = async (filter?: string): Promise<number> =>
      (
        await admin.get(
          `/analytics/surveys/${id}${filter === undefined ? '' : `?filter=${encodeURIComponent(filter)}`}`,
        )
      ).totalResponses;
    /** Every count is that of the stored rows, in both stores, and of the ids that the analysis gives. */
    const assertExact = async (themes: readonly Theme[], expected: Readonly<Record<string, string[]>>) => {
      assert.deepEqual(
        Object.fromEntries(themes.map(({ name, responseIds }) => [name, responseIds.toSorted()])),
        Object.fromEntries(Object.entries(expected).map(([name, ids]) => [name, ids.toSorted()])),
      );
      for (const { name, count, responseIds } of themes) {
        assert.equal(count, responseIds.length);
        assert.equal(await total(`theme:${name}`), count, name);
      }
      const [last] = await stores.sql<
        { topic: string; edition: string }[]
      >`SELECT topic, result->>'edition' AS edition FROM ai_jobs WHERE survey_id = ${id} AND status = 'COMPLETED' ORDER BY id DESC LIMIT 1`;
      const stored = await stores.sql<{ name: string; count: number }[]>`
        SELECT shown AS name, count(DISTINCT response_id) AS count FROM ai_findings CROSS JOIN jsonb_array_elements_text(finding->'themes') said JOIN ai_themes USING (survey_id, topic)
        WHERE survey_id = ${id} AND topic = ${last?.topic ?? ''} AND ai_themes.name = said GROUP BY 1`;
      assert.deepEqual(
        Object.fromEntries(stored.map(({ name, count }) => [name, count])),
        Object.fromEntries(themes.map(({ name, count }) => [name, count])),
      );
      const counted = await stores.clickhouse.select<[string, string]>(
        `SELECT value, toString(uniqExact(response_id)) FROM ${stores.clickhouse.table('findings')} WHERE survey_id = toUUID('${id}') AND edition = toUUID('${last?.edition}')
         AND response_id NOT IN (SELECT response_id FROM ${stores.clickhouse.table('responses')} WHERE is_deleted = 1) GROUP BY value`,
      );
      assert.deepEqual(
        Object.fromEntries(counted.map(([name, count]) => [name, Number(count)])),
        Object.fromEntries(themes.map(({ name, count }) => [name, count])),
      );
    };
    return { id, opens, answer, submit, analyse, total, assertExact };
  };

  it('a theme has one name for all spellings, also if a batch did not know the name', async () => {
    const { answer, analyse } = await openSurvey();
    const names = Array.from(
      { length: 70 },
      (_, n) => `Topic ${String.fromCharCode(97 + Math.floor(n / 26), 97 + (n % 26))} price`,
    );
    for (const name of names) await answer([name]);
    for (const [n, name] of names.entries())
      await answer([[name.toUpperCase(), `${name}s`, `“${name.replaceAll(' ', '-')}”`][n % 3] ?? '']);
    const themes = await analyse();
    assert.deepEqual(
      themes.map(({ name, count }) => `${name} ${count}`).sort(),
      names.map((name) => `${name} 2`).sort(),
    );
    const told = ai.calls.filter((call) => !isMerge(call)).map((call) => dataOf(call).knownThemes.length);
    assert.deepEqual([Math.max(...told), told[1]], [60, 5]);
  });

  it('equal themes are merged and counted exactly; the next analysis keeps the name and compares new names only', async () => {
    const survey = await openSurvey();
    ai.answer = judging([['Price', 'Pricing', 'Too expensive', 'Cost']]);
    const given: Record<string, string[]> = { Price: [], Food: [] };
    const add = async (key: string, ...lists: string[][]) =>
      given[key]?.push((await survey.answer(...lists)).responseId);
    for (let n = 0; n < 5; n += 1) await add('Price', ['Price']);
    for (let n = 0; n < 4; n += 1) await add('Food', ['Food']);
    for (let n = 0; n < 2; n += 1) await add('Price', ['Pricing']);
    // Both names in one answer, and in two answers of one response: once all the same.
    await add('Price', ['Price', 'Too expensive']);
    await add('Price', ['Pricing'], ['Too expensive']);
    const { Price = [], Food = [] } = given;
    await survey.assertExact(await survey.analyse(), { Price, Food });
    assert.deepEqual(ai.calls.filter(isMerge).map(namesOf), [['Price', 'Food', 'Pricing', 'Too expensive']]);
    const refused = await admin.call('GET', `/analytics/surveys/${survey.id}?filter=theme:Pricing`);
    assert.equal(refused.body.code, 'VALIDATION_ERROR');

    ai.calls.length = 0;
    for (let n = 0; n < 9; n += 1) await add('Price', ['Cost']);
    await add('Food', ['food', 'Pricing']);
    Price.push(Food.at(-1) ?? '');
    await survey.assertExact(await survey.analyse(), { Price, Food });
    assert.deepEqual(ai.calls.filter(isMerge).map(namesOf), [['Price', 'Food', 'Cost']]);
    assert.deepEqual(
      ai.calls.filter((call) => !isMerge(call)).map((call) => dataOf(call).answers.length),
      [5, 5],
    );
    assert.deepEqual(ai.calls[0] && dataOf(ai.calls[0]).knownThemes, ['Price', 'Food']);

    ai.calls.length = 0;
    await survey.assertExact(await survey.analyse(), { Price, Food });
    assert.equal(ai.calls.length, 0);
  });

  it('themes are counted exactly after edits, deletions and a change of model', async () => {
    const survey = await openSurvey();
    ai.answer = judging([['Price', 'Pricing']]);
    const first = String(survey.opens[0].id);
    const changed = await survey.submit(['about |Price', 'about |Pricing'], { isComplete: false });
    const [kept, gone] = [
      (await survey.answer(['Price', 'Food'])).responseId,
      (await survey.answer(['Pricing'])).responseId,
    ];
    const later = (await survey.answer(['Staff'])).responseId;
    await survey.assertExact(await survey.analyse(), {
      Price: [changed.responseId, kept, gone],
      Food: [kept],
      Staff: [later],
    });

    const reply = await admin.submit(survey.id, {
      responseId: changed.responseId,
      resumeToken: changed.resumeToken,
      answers: [{ questionId: first, textValue: 'about |Food' }],
      isComplete: true,
    });
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    await survey.assertExact(await survey.analyse(), {
      Price: [changed.responseId, kept, gone],
      Food: [changed.responseId, kept],
      Staff: [later],
    });

    await admin.remove(`/responses/${gone}`);
    await admin.remove(`/responses/${later}`);
    await eventually(async () => assert.equal(await survey.total('theme:Price'), 2));
    assert.deepEqual(
      (await survey.analyse()).map(({ name, count }) => [name, count]),
      [
        ['Food', 2],
        ['Price', 2],
      ],
    );
    await survey.assertExact(await survey.analyse(), {
      Price: [changed.responseId, kept],
      Food: [changed.responseId, kept],
    });
    const names = await stores.sql<
      { name: string }[]
    >`SELECT name FROM ai_themes WHERE survey_id = ${survey.id} ORDER BY name`;
    assert.deepEqual(
      names.map(({ name }) => name),
      ['Food', 'Price', 'Pricing'],
      'a name that nobody has any more is forgotten',
    );

    ai.answer = judging([]);
    await survey.assertExact(await survey.analyse('anthropic'), {
      Price: [kept],
      Pricing: [changed.responseId],
      Food: [changed.responseId, kept],
    });
  });

  it('themes stay separate after an invalid reply, until the next analysis', async () => {
    const survey = await openSurvey();
    const ids: string[] = [];
    for (const name of ['Price', 'Pricing']) ids.push((await survey.answer([name])).responseId);
    ai.answer = (call) => (isMerge(call) ? { same: [{ n: 1, as: 99 }] } : judging([])(call));
    await survey.assertExact(await survey.analyse(), { Price: [ids[0] ?? ''], Pricing: [ids[1] ?? ''] });
    assert.equal(ai.calls.filter(isMerge).length, 2, 'it was told what is wrong, once');
    ai.answer = judging([['Price', 'Pricing']]);
    await survey.assertExact(await survey.analyse(), { Price: ids });
  });

  it('themes are merged a hundred at a time, each call with the names that were compared already', async () => {
    const survey = await openSurvey();
    const names = Array.from(
      { length: 240 },
      (_, n) => `Topic ${String.fromCharCode(97 + Math.floor(n / 26), 97 + (n % 26))}`,
    );
    for (let n = 0; n < names.length; n += 3) await survey.answer(names.slice(n, n + 3));
    ai.answer = judging([[names[0] ?? '', names[239] ?? '', names[120] ?? '']]);
    const themes = await survey.analyse();
    assert.deepEqual(
      ai.calls.filter(isMerge).map((call) => namesOf(call).length),
      [100, 200, 239],
    );
    assert.equal(themes.find(({ name }) => name === names[0])?.count, 3);
    const rows = await stores.sql<
      { shown: string }[]
    >`SELECT DISTINCT shown FROM ai_themes WHERE survey_id = ${survey.id}`;
    assert.equal(rows.length, 238);
  });
});
