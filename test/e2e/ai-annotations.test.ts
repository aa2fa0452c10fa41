import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createAnnotationTable } from '../../src/stores/clickhouse/annotation-table.ts';
import type { Stores } from '../../src/stores/stores.ts';
import type { AiFixture } from '../support/ai-fixture.ts';
import type { AiProviderServer, SeenCall } from '../support/ai-provider.ts';
import { resultOfWork } from '../support/ai-work.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { finishedExport } from '../support/exports.ts';
import { openStoresOf } from '../support/service-stores.ts';
import { useAi } from '../support/use-ai.ts';

const feelings = ['positive', 'negative', 'neutral', 'mixed'];
const feelOf = (text: string) => feelings.find((feeling) => text.includes(feeling)) ?? 'neutral';
const themesOf = (text: string) => ['Food', 'Queue: time', 'Staff'].filter((theme) => text.includes(theme));

/** Finds what the test put there. */
function judge({ user, schema }: SeenCall): unknown {
  if ('same' in schema.properties) return { same: [] };
  const isThemes = JSON.stringify(schema).includes('themes');
  return {
    answers: JSON.parse(user[0] ?? '{}').answers.map(({ n, text }: any) => ({
      n,
      sentiment: feelOf(text),
      ...(isThemes && { themes: themesOf(text) }),
    })),
  };
}

interface Given {
  responseId: string;
  dish: string;
  texts: string[];
}

describe('AI annotations as filters and variables of analytics', () => {
  let service: AiFixture['service'];
  let ai: AiProviderServer;
  let admin: Client;
  let stores: Stores;
  after(() => stores?.close());
  useAi(
    async (scene) => {
      ({ ai, admin, service } = scene);
      stores = await openStoresOf(service);
    },
    { env: { AI_BATCH_SIZE: '10' }, answer: judge },
  );

  const openSurvey = async () => {
    const { id } = await admin.create('/surveys', { title: 'Canteen' });
    const dish = await admin.create(`/surveys/${id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Dish?',
      options: [
        { text: 'Soup', value: 'soup' },
        { text: 'Salad', value: 'salad' },
      ],
    });
    const opens: { id: string }[] = [];
    for (const text of ['What do you think?', 'What else?'])
      opens.push(await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text }));
    await admin.put(`/surveys/${id}`, { status: 'ACTIVE' });
    const given: Given[] = [];
    const answer = async (value: string, texts: string[], more: Record<string, unknown> = {}): Promise<Given> => {
      const optionId = dish.options.find((option: any) => option.value === value).id;
      const answers = [
        { questionId: dish.id, optionId },
        ...texts.flatMap((textValue, index) => (textValue === '' ? [] : [{ questionId: opens[index]?.id, textValue }])),
      ];
      const reply = await admin.submit(id, { answers, ...more });
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      const response = { responseId: reply.body.data.responseId, dish: value, texts };
      given.push(response);
      return response;
    };
    const analyse = (analysisType: string, provider = 'openai') =>
      resultOfWork(admin, `/ai/surveys/${id}/analyze?limit=1000`, { analysisType, provider });
    const total = async (...filters: string[]): Promise<number> =>
      (
        await admin.get(
          `/analytics/surveys/${id}?${filters.map((text) => `filter=${encodeURIComponent(text)}`).join('&')}`,
        )
      ).totalResponses;
    const crosstab = (body: Record<string, unknown>) => admin.post(`/analytics/surveys/${id}/crosstab`, body);
    return {
      id,
      dish: String(dish.id),
      opens: opens.map(({ id: questionId }) => questionId),
      given,
      answer,
      analyse,
      total,
      crosstab,
    };
  };
  const fill = async ({ answer }: Awaited<ReturnType<typeof openSurvey>>, count: number) => {
    for (let n = 0; n < count; n += 1)
      await answer(n % 3 === 0 ? 'soup' : 'salad', [
        `${feelings[n % 4]} ${n % 2 ? 'Food' : 'Queue: time'}${n % 5 === 0 ? ' Staff' : ''}`,
        n % 3 === 1 ? `${feelings[(n + 1) % 4]} Staff` : '',
      ]);
  };
  const refusal = async (survey: { id: string }, filter: string) =>
    (await admin.call('GET', `/analytics/surveys/${survey.id}?filter=${encodeURIComponent(filter)}`)).body;

  it('a filter by sentiment counts the responses that the analysis names', async () => {
    const survey = await openSurvey();
    await fill(survey, 26);
    const [open = '', other = ''] = survey.opens;
    const before = await refusal(survey, 'sentiment:positive');
    assert.deepEqual([before.code, before.details[0].path], ['VALIDATION_ERROR', 'filter.0']);
    assert.match(before.details[0].message, /needs a finished analysis/);
    const { perResponse } = await survey.analyse('sentiment');
    const named = (feeling: string, questionId?: string) =>
      new Set(
        perResponse
          .filter(
            (one: any) => one.sentiment === feeling && (questionId === undefined || one.questionId === questionId),
          )
          .map((one: any) => one.responseId),
      );
    for (const feeling of feelings) {
      assert.equal(await survey.total(`sentiment:${feeling}`), named(feeling).size);
      for (const questionId of survey.opens)
        assert.equal(await survey.total(`sentiment:${questionId}:${feeling}`), named(feeling, questionId).size);
    }
    const soup = survey.given.filter(
      ({ dish, responseId }) => dish === 'soup' && named('negative', open).has(responseId),
    );
    assert.equal(await survey.total(`${survey.dish}:soup`, `sentiment:${open}:negative`), soup.length);
    const ofDish = await admin.get(
      `/analytics/surveys/${survey.id}/questions/${survey.dish}?filter=sentiment:${other}:mixed`,
    );
    assert.equal(ofDish.responseCount, named('mixed', other).size);
    for (const wrong of [
      `sentiment:${survey.dish}:positive`,
      'sentiment:angry',
      `sentiment:${survey.id}:mixed`,
      'theme:Food',
    ])
      assert.equal((await refusal(survey, wrong)).code, 'VALIDATION_ERROR', wrong);
  });

  it('an export filters like statistics, by the analysis that was the last when the export was requested', async () => {
    const survey = await openSurvey();
    await fill(survey, 26);
    const [open = ''] = survey.opens;
    const refused = await admin.call('POST', `/exports/surveys/${survey.id}`, {
      body: { format: 'CSV', filters: ['sentiment:mixed'] },
    });
    assert.deepEqual([refused.body.code, refused.body.details[0].path], ['VALIDATION_ERROR', 'filters.0']);
    assert.match(refused.body.details[0].message, /needs a finished analysis/);
    const { perResponse } = await survey.analyse('sentiment');
    const { themes } = await survey.analyse('themes');
    const idsIn = async (filters: string[], format: string): Promise<string[]> => {
      const { exportId } = (await admin.call('POST', `/exports/surveys/${survey.id}`, { body: { format, filters } }))
        .body.data;
      assert.equal((await finishedExport(admin, exportId)).status, 'COMPLETED');
      const text = await (
        await fetch(`${service.base}/exports/${exportId}/download`, {
          headers: { authorization: `Bearer ${admin.token}` },
        })
      ).text();
      return format === 'JSON'
        ? JSON.parse(text)
            .map(({ id }: { id: string }) => id)
            .sort()
        : text
            .split('\r\n')
            .slice(1, -1)
            .map((line) => line.slice(0, 36))
            .sort();
    };
    const feeling = (questionId: string | undefined, wanted: string): string[] =>
      [
        ...new Set<string>(
          perResponse
            .filter(
              (one: any) => one.sentiment === wanted && (questionId === undefined || one.questionId === questionId),
            )
            .map((one: any) => one.responseId),
        ),
      ].sort();
    const queue = themes.find(({ name }: any) => name === 'Queue: time');
    for (const format of ['CSV', 'JSON']) {
      assert.deepEqual(await idsIn(['sentiment:mixed'], format), feeling(undefined, 'mixed'));
      assert.deepEqual(
        await idsIn(['theme:Queue: time', `sentiment:${open}:neutral`], format),
        queue.responseIds.filter((id: string) => feeling(open, 'neutral').includes(id)).sort(),
      );
    }
    const unknown = await admin.call('POST', `/exports/surveys/${survey.id}`, {
      body: { format: 'CSV', filters: ['theme:Weather'] },
    });
    assert.deepEqual([unknown.body.code, unknown.body.details[0].path], ['VALIDATION_ERROR', 'filters.0']);
    // A file that is still to be made keeps its edition, however many analyses follow.
    const [waiting] = await stores.sql<{ id: string; edition: string }[]>`
      UPDATE exports SET status = 'PENDING', created_at = now() WHERE survey_id = ${survey.id} AND options->'filters' = '["sentiment:mixed"]' AND format = 'CSV' RETURNING id, options->'editions'->>'sentiment' AS edition`;
    for (let n = 0; n < 3; n += 1) await survey.analyse('sentiment');
    await stores.annotations.sweep(Date.now() + 2 * 3_600_000);
    const kept = await stores.clickhouse.select<[string]>(
      `SELECT DISTINCT toString(edition) FROM ${stores.clickhouse.table('findings')} WHERE survey_id = toUUID('${survey.id}')`,
    );
    assert.ok(kept.some(([edition]) => edition === waiting?.edition));
    await stores.sql`DELETE FROM exports WHERE id = ${waiting?.id ?? ''}`;
  });

  it('a crosstab of sentiment and answers matches the stored rows', async () => {
    const survey = await openSurvey();
    await fill(survey, 26);
    const [open = ''] = survey.opens;
    const { perResponse } = await survey.analyse('sentiment');
    const table = await survey.crosstab({ questionId1: `sentiment:${open}`, questionId2: survey.dish });
    const has =
      (feeling: string) =>
      ({ responseId }: Given) =>
        perResponse.some(
          (one: any) => one.responseId === responseId && one.questionId === open && one.sentiment === feeling,
        );
    assert.deepEqual(
      table.rows.map(({ value }: any) => value),
      feelings,
    );
    assert.deepEqual(
      table.cells.map((cells: any[]) => cells.map(({ count }) => count)),
      feelings.map((feeling) =>
        ['soup', 'salad'].map(
          (dish) => survey.given.filter((response) => response.dish === dish && has(feeling)(response)).length,
        ),
      ),
    );
    assert.equal(table.total, 26);
    const refused = await admin.call('POST', `/analytics/surveys/${survey.id}/crosstab`, {
      body: { questionId1: survey.dish, questionId2: 'theme' },
    });
    assert.deepEqual([refused.body.code, refused.body.details[0].path], ['VALIDATION_ERROR', 'questionId2']);
  });

  it('a filter by theme, and a crosstab of themes and sentiment, match the counts of the analysis', async () => {
    const survey = await openSurvey();
    await fill(survey, 18);
    const { themes } = await survey.analyse('themes');
    await survey.analyse('sentiment');
    assert.deepEqual(themes.map(({ name }: any) => name).sort(), ['Food', 'Queue: time', 'Staff']);
    for (const { name, count, responseIds } of themes) {
      assert.equal(await survey.total(`theme:${name}`), count);
      assert.equal(responseIds.length, count);
      const list = survey.given.filter(({ responseId, dish }) => dish === 'salad' && responseIds.includes(responseId));
      assert.equal(await survey.total(`theme:${name}`, `${survey.dish}:salad`), list.length);
    }
    const [open = '', other = ''] = survey.opens;
    const staff = survey.given.filter(({ texts }) => texts[1]?.includes('Staff'));
    assert.equal(await survey.total(`theme:${other}:Staff`), staff.length);
    assert.equal(await survey.total(`theme:${other}:Food`), 0);
    const table = await survey.crosstab({
      questionId1: 'theme',
      questionId2: `sentiment:${open}`,
      filters: [`${survey.dish}:soup`],
    });
    const expected = table.rows.map(({ value }: any) =>
      feelings.map(
        (feeling) =>
          survey.given.filter(
            ({ dish, texts }) =>
              dish === 'soup' && texts.some((text) => text.includes(value)) && feelOf(texts[0] ?? '') === feeling,
          ).length,
      ),
    );
    assert.deepEqual(
      table.cells.map((cells: any[]) => cells.map(({ count }) => count)),
      expected,
    );
  });

  it('a crosstab of the themes of a question is not refused for those of another question', async () => {
    const survey = await openSurvey();
    await fill(survey, 9);
    await survey.analyse('themes');
    const [open = '', other = ''] = survey.opens;
    const [last] = await stores.sql<{ edition: string }[]>`
      SELECT result->>'edition' AS edition FROM ai_jobs WHERE survey_id = ${survey.id} AND status = 'COMPLETED'`;
    const values = Array.from({ length: 301 }, (_, n) => `Topic ${n}`);
    await createAnnotationTable(stores).insert({ surveyId: survey.id, edition: last?.edition ?? '' }, [
      [{ responseId: survey.given[0]?.responseId ?? '', questionId: open, values }],
    ]);
    const table = await survey.crosstab({ questionId1: `theme:${other}`, questionId2: survey.dish });
    assert.deepEqual(
      table.rows.map(({ value, total }: any) => [value, total]),
      [['Staff', survey.given.filter(({ texts }) => texts[1]?.includes('Staff')).length]],
    );
    for (const name of ['theme', `theme:${open}`]) {
      const { body } = await admin.call('POST', `/analytics/surveys/${survey.id}/crosstab`, {
        body: { questionId1: name, questionId2: survey.dish },
      });
      assert.match(body.details[0].message, /more than 300 themes/, name);
    }
    assert.equal(await survey.total('theme:Topic 300'), 1);
  });

  it('annotations are those of the last finished analysis, which the next one replaces', async () => {
    const survey = await openSurvey();
    await survey.answer('soup', ['positive']);
    await survey.analyse('sentiment');
    await survey.answer('soup', ['positive']);
    await eventually(async () => assert.equal(await survey.total(), 2));
    assert.equal(await survey.total('sentiment:positive'), 1);
    await survey.analyse('sentiment');
    assert.equal(await survey.total('sentiment:positive'), 2);
    // Another model sees it otherwise.
    ai.answer = (call) => ({
      answers: JSON.parse(call.user[0] ?? '{}').answers.map(({ n }: any) => ({ n, sentiment: 'mixed' })),
    });
    await survey.analyse('sentiment', 'anthropic');
    assert.deepEqual([await survey.total('sentiment:positive'), await survey.total('sentiment:mixed')], [0, 2]);
  });

  it('annotations are deleted with their responses in every store', async () => {
    const survey = await openSurvey();
    const one = await survey.answer('soup', ['positive Food Staff']);
    const ofAnn = await survey.answer('soup', ['positive Food'], { respondent: 'ann' });
    const left = await survey.answer('soup', ['positive Food', 'mixed Food']);
    await survey.analyse('themes');
    await survey.analyse('sentiment');
    const themeNames = async () =>
      (
        await stores.sql<{ name: string }[]>`SELECT name FROM ai_themes WHERE survey_id = ${survey.id} ORDER BY name`
      ).map(({ name }) => name);
    const inPostgres = async () =>
      (
        await stores.sql<
          { id: string }[]
        >`SELECT DISTINCT response_id AS id FROM ai_findings WHERE survey_id = ${survey.id}`
      )
        .map(({ id }) => id)
        .sort();
    const inClickHouse = async () =>
      (
        await stores.clickhouse.select<[string]>(
          `SELECT DISTINCT response_id FROM ${stores.clickhouse.table('findings')} WHERE survey_id = toUUID('${survey.id}')`,
        )
      )
        .map(([id]) => id)
        .sort();
    const all = [one, ofAnn, left].map(({ responseId }) => responseId).sort();
    assert.deepEqual([await inPostgres(), await inClickHouse()], [all, all]);
    // Now, while all have it: the service sweeps too, some seconds after its start, and then forgets the name.
    assert.deepEqual(await themeNames(), ['Food', 'Staff']);
    await admin.remove(`/responses/${one.responseId}`);
    assert.ok(!(await inPostgres()).includes(one.responseId));
    await admin.remove(`/surveys/${survey.id}/respondents/ann`);
    assert.deepEqual(await inPostgres(), [left.responseId]);
    await eventually(async () => assert.equal(await survey.total(), 1));
    assert.equal(await survey.total('sentiment:positive'), 1);
    assert.equal((await survey.crosstab({ questionId1: 'theme', questionId2: 'sentiment' })).total, 1);
    // As an analysis does that had read the response before it was deleted.
    await stores.sql`INSERT INTO ai_findings SELECT survey_id, topic, ${one.responseId}, question_id, digest, finding, seen_by FROM ai_findings WHERE survey_id = ${survey.id} LIMIT 1`;
    await stores.annotations.sweep(Date.now());
    assert.deepEqual([await inPostgres(), await inClickHouse()], [[left.responseId], [left.responseId]]);
    assert.deepEqual(await themeNames(), ['Food'], 'a name that only the deleted had is forgotten');
    await admin.remove(`/surveys/${survey.id}`);
    await eventually(async () => assert.deepEqual([await inPostgres(), await inClickHouse()], [[], []]));
  });

  it('the edition that is read, and the one before it, are kept', async () => {
    const survey = await openSurvey();
    await survey.answer('soup', ['positive']);
    for (let n = 0; n < 3; n += 1) await survey.analyse('sentiment');
    const editions = async () =>
      (
        await stores.clickhouse.select<[string]>(
          `SELECT DISTINCT edition FROM ${stores.clickhouse.table('findings')} WHERE survey_id = toUUID('${survey.id}')`,
        )
      ).length;
    await stores.annotations.sweep(Date.now());
    assert.equal(await editions(), 3, 'a young one may still be written');
    await stores.annotations.sweep(Date.now() + 2 * 3_600_000);
    assert.equal(await editions(), 2);
    assert.equal(await survey.total('sentiment:positive'), 1);
  });
});
