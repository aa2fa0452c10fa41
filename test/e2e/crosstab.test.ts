import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';

/** Respondents by row (a, b) and column (x, y, z). */
const crossed = [
  [18, 2, 5],
  [3, 17, 5],
];

/**
 * What the nth respondent of a cell weighs: the first gives no number and the second none that can be used, others 3,
 * 0.5, 3, 0.5 …
 */
const weightsOf = (n: number): number[] => (n === 0 ? [] : [n === 1 ? -1 : n % 2 === 0 ? 3 : 0.5]);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

describe('a crosstab', () => {
  let service: RunningService;
  let admin: Client;
  let survey: { id: string; rows: string; columns: string; weight: string; matrix: any; several: string };
  const ask = (fields: Record<string, unknown> = {}) =>
    admin.post(`/analytics/surveys/${survey.id}/crosstab`, {
      questionId1: survey.rows,
      questionId2: survey.columns,
      ...fields,
    });
  const refusal = async (fields: Record<string, unknown>) => {
    const { status, body } = await admin.call('POST', `/analytics/surveys/${survey.id}/crosstab`, {
      body: { questionId1: survey.rows, questionId2: survey.columns, ...fields },
    });
    assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body));
    return body.details.map(({ path }: any) => path);
  };

  before(async () => {
    service = await startService();
    admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Crossed' });
    const question = (body: Record<string, unknown>) => admin.create(`/surveys/${id}/questions`, body);
    const choice = (...values: string[]) =>
      question({
        type: 'DROPDOWN',
        text: 'Which?',
        options: values.map((value) => ({ text: value.toUpperCase(), value })),
      });
    const [rows, columns, weight] = [
      await choice('a', 'b'),
      await choice('x', 'y', 'z'),
      await question({ type: 'NUMBER', text: 'How many live there?' }),
    ];
    const several = await question({
      type: 'CHECKBOXES',
      text: 'Which fruits?',
      options: [{ text: 'Apple' }, { text: 'Pear' }],
    });
    const matrix = await question({
      type: 'MATRIX',
      text: 'How was it?',
      options: [{ text: 'Good' }, { text: 'Bad' }],
      settings: { rows: [{ text: 'Food' }, { text: 'Service' }] },
    });
    await admin.post(`/surveys/${id}/publish`);
    const furtherOf = (n: number) => [
      ...several.options.slice(0, n % 3).map((option: any) => ({ questionId: several.id, optionId: option.id })),
      { questionId: matrix.id, rowId: matrix.settings.rows[1].id, optionId: matrix.options[n % 2].id },
    ];
    survey = { id, rows: rows.id, columns: columns.id, weight: weight.id, matrix, several: several.id };
    for (const [r, line] of crossed.entries())
      for (const [c, count] of line.entries())
        for (let n = 0; n < count; n += 1)
          await admin.submit(id, {
            answers: [
              { questionId: rows.id, optionId: rows.options[r].id },
              { questionId: columns.id, optionId: columns.options[c].id },
              ...weightsOf(n).map((numberValue) => ({ questionId: weight.id, numberValue })),
              ...furtherOf(n),
            ],
            metadata: { panel: n % 2 === 0 ? ' 0.5 ' : 'unknown', household: '0,5' },
          });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 50));
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
  });

  it('refuses a metadata key that no response has, if there are responses', async () => {
    const { status, body } = await admin.call('POST', `/analytics/surveys/${survey.id}/crosstab`, {
      body: { questionId1: survey.rows, questionId2: survey.columns, weightMetadataKey: 'Panel' },
    });
    assert.deepEqual(
      [status, body.code, body.details],
      [
        400,
        'VALIDATION_ERROR',
        [{ path: 'weightMetadataKey', message: 'no response of this survey has the key "Panel" in its metadata' }],
      ],
    );
    assert.equal((await ask({ weightMetadataKey: 'panel' })).unweightable, 23);
    const none = await ask({ weightMetadataKey: 'panel', filters: [`${survey.rows}:a`, `${survey.rows}:b`] });
    assert.deepEqual([none.total, none.unweightable], [0, 0]);
    assert.deepEqual(await refusal({ weightMetadataKey: 'Panel', filters: [`${survey.rows}:a`, `${survey.rows}:b`] }), [
      'weightMetadataKey',
    ]);
    const copy = await admin.create(`/surveys/${survey.id}/duplicate`);
    const [rows, columns] = copy.questions;
    assert.equal(
      (
        await admin.post(`/analytics/surveys/${copy.id}/crosstab`, {
          questionId1: rows.id,
          questionId2: columns.id,
          weightMetadataKey: 'Panel',
        })
      ).total,
      0,
    );
  });

  it('names the columns that a percentage exceeds significantly, at each confidence level and correction', async () => {
    const over = async (fields: Record<string, unknown> = {}) =>
      (await ask(fields)).cells.map((line: any[]) => line.map(({ significantOver }) => significantOver));
    // p of x and y 2.0e-6; by Fisher's exact test of x and z 0.0742, of y and z 0.0302.
    assert.deepEqual(await over(), [
      [['y'], [], ['y']],
      [[], ['x', 'z'], []],
    ]);
    assert.deepEqual(await over({ significance: 0.92 }), [
      [['y', 'z'], [], ['y']],
      [[], ['x', 'z'], ['x']],
    ]);
    assert.deepEqual(await over({ correction: 'bonferroni' }), [
      [['y'], [], []],
      [[], ['x'], []],
    ]);
    assert.deepEqual(await over({ correction: 'fdr', significance: 0.95 }), await over());
    for (const significance of [0.05, 1, 95, '0.95', null])
      assert.deepEqual(await refusal({ significance }), ['significance'], String(significance));
    assert.deepEqual(await refusal({ correction: 'holm' }), ['correction']);
  });

  it('is weighted by the answers to a question, and counts responses without a weight apart', async () => {
    const weights = crossed.map((line) =>
      line.map((count) => Array.from({ length: Math.max(0, count - 2) }, (_, n) => weightsOf(n + 2)[0] ?? 0)),
    );
    const table = await ask({ weightQuestionId: survey.weight });
    const all = weights.flat(2);
    assert.deepEqual([table.total, table.unweightable, table.weightedTotal], [all.length, 50 - all.length, sum(all)]);
    assert.ok(Math.abs(table.effectiveBase - sum(all) ** 2 / sum(all.map((weight) => weight ** 2))) < 1e-9);
    assert.deepEqual(
      table.cells.map((line: any[]) => line.map(({ count, weightedCount }) => [count, weightedCount])),
      weights.map((line) => line.map((cell) => [cell.length, sum(cell)])),
    );
    const x = weights.flatMap((line) => line[0] ?? []);
    assert.deepEqual([table.columns[0].total, table.columns[0].weightedTotal], [x.length, sum(x)]);
    assert.ok(Math.abs(table.cells[0][0].columnPercent - (100 * sum(weights[0]?.[0] ?? [])) / sum(x)) < 1e-9);
  });

  it('is weighted by numbers in the metadata', async () => {
    const table = await ask({ weightMetadataKey: 'panel' });
    assert.deepEqual(
      table.cells.map((line: any[]) => line.map(({ count }) => count)),
      [
        [9, 1, 3],
        [2, 9, 3],
      ],
    );
    assert.deepEqual([table.total, table.weightedTotal, table.effectiveBase, table.unweightable], [27, 13.5, 27, 23]);
    const nobody = await ask({ weightMetadataKey: 'household' });
    assert.deepEqual(
      [nobody.total, nobody.weightedTotal, nobody.effectiveBase, nobody.unweightable, nobody.chiSquare.statistic],
      [0, 0, 0, 50, null],
    );
  });

  it('refuses invalid weights', async () => {
    for (const weightQuestionId of [survey.rows, survey.id, ''])
      assert.deepEqual(await refusal({ weightQuestionId }), ['weightQuestionId']);
    assert.deepEqual(await refusal({ weightQuestionId: survey.rows, questionId2: 'nobody' }), [
      'questionId2',
      'weightQuestionId',
    ]);
    assert.deepEqual(await refusal({ weightQuestionId: survey.weight, weightMetadataKey: 'panel' }), [
      'weightMetadataKey',
    ]);
    assert.deepEqual(await refusal({ weightMetadataKey: '' }), ['weightMetadataKey']);
  });

  it('takes a banner: further columns, each with the result of its own crosstab', async () => {
    const { several, matrix, columns } = survey;
    const rowId = matrix.settings.rows[1].id;
    for (const fields of [{}, { weightQuestionId: survey.weight, correction: 'fdr', filters: [`${several}:apple`] }]) {
      const { banner, ...first } = await ask({
        ...fields,
        banner: [several, { questionId: matrix.id, rowId }, columns],
      });
      const alone = [
        await ask({ ...fields, questionId2: several }),
        await ask({ ...fields, questionId2: matrix.id, rowId2: rowId }),
        await ask(fields),
      ];
      assert.deepEqual(first, alone[2]);
      assert.deepEqual(banner, [
        { questionId: several, ...alone[0] },
        { questionId: matrix.id, rowId, ...alone[1] },
        { questionId: columns, ...alone[2] },
      ]);
    }
    assert.ok(!('banner' in (await ask())));
    assert.deepEqual((await ask({ banner: [] })).banner, []);
  });

  it('refuses a banner of questions that cannot be crossed, with the path of each', async () => {
    assert.deepEqual(
      await refusal({
        banner: [
          survey.columns,
          survey.weight,
          survey.matrix.id,
          'nobody',
          { questionId: survey.matrix.id, rowId: 'nobody' },
        ],
      }),
      ['banner.1', 'banner.2', 'banner.3', 'banner.4.rowId'],
    );
    assert.deepEqual(await refusal({ banner: Array.from({ length: 21 }, () => survey.columns) }), ['banner']);
    assert.deepEqual(await refusal({ banner: 5 }), ['banner']);
  });

  it('refuses a row of a question without rows, and an unknown row', async () => {
    assert.deepEqual(await refusal({ rowId1: 'x', rowId2: 'y' }), ['rowId1', 'rowId2']);
    assert.deepEqual(await refusal({ questionId2: survey.matrix.id, rowId2: 'nobody' }), ['rowId2']);
    assert.deepEqual(await refusal({ questionId2: survey.matrix.id }), ['questionId2']);
    assert.deepEqual(await refusal({ questionId2: survey.weight, rowId2: 'x' }), ['questionId2']);
    assert.deepEqual(await refusal({ banner: [{ questionId: survey.columns, rowId: 'x' }] }), ['banner.0.rowId']);
    assert.deepEqual(await refusal({ filters: [`${survey.columns}:anything:x`] }), ['filters.0']);
  });

  it('refuses a crosstab that would be too large, before it is counted', async () => {
    const { id } = await admin.create('/surveys', { title: 'Fine scales' });
    const scale = () =>
      admin.create(`/surveys/${id}/questions`, {
        type: 'SLIDER',
        text: 'How much?',
        settings: { min: 0, max: 999, step: 1 },
      });
    const [one, other] = [await scale(), await scale()];
    const { status, body } = await admin.call('POST', `/analytics/surveys/${id}/crosstab`, {
      body: { questionId1: one.id, questionId2: other.id },
    });
    assert.deepEqual(
      [status, body.details],
      [
        400,
        [
          {
            path: 'questionId2',
            message: 'there would be 1000 rows and 1000 columns; a table can have 50000 cells at most',
          },
        ],
      ],
    );
  });

  it('has the language of responses as a variable, which also filters statistics, answers and crosstabs', async () => {
    const { id } = await admin.create('/surveys', { title: 'Languages', language: 'pt-BR', status: 'ACTIVE' });
    const [choice, text] = [
      await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Well?' }),
      await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'Why?' }),
    ];
    const languages = [undefined, 'pt-BR', 'pt', 'pt-PT', 'de', 'de-AT', 'den', 'zh-Hant', 'sv'];
    for (const language of languages) {
      const answers = [
        { questionId: choice.id, textValue: 'yes' },
        { questionId: text.id, textValue: language ?? 'none' },
      ];
      assert.equal((await admin.submit(id, { answers, ...(language && { language }) })).status, 201);
    }
    const path = `/analytics/surveys/${id}`;
    await eventually(async () => assert.equal((await admin.get(path)).totalResponses, languages.length));

    const { rows, cells, total } = await admin.post(`${path}/crosstab`, {
      questionId1: 'language',
      questionId2: choice.id,
    });
    assert.deepEqual(
      rows.map(({ value, text: name }: any, at: number) => [value, name, cells[at][0].count]),
      [
        ['pt-BR', 'Brazilian Portuguese', 2],
        ['de', 'German', 2],
        ['pt', 'Portuguese', 2],
        ['zh-Hant', 'Traditional Chinese', 1],
        ['other', 'Other languages', 2],
      ],
    );
    assert.equal(total, languages.length);
    const filtered = await admin.post(`${path}/crosstab`, {
      questionId1: choice.id,
      questionId2: 'language',
      filters: ['language:de'],
    });
    assert.equal(filtered.total, 2);

    const counted = async (filter: string) => (await admin.get(`${path}?filter=${filter}`)).totalResponses;
    assert.deepEqual(
      await Promise.all(['language:pt-BR', 'language:PT', 'language:de', 'language:other', 'language:fr'].map(counted)),
      [2, 4, 2, 2, 0],
    );
    const { body } = await admin.call(
      'GET',
      `/responses/surveys/${id}/questions/${text.id}/texts?filter=language:other&limit=10`,
    );
    assert.deepEqual(body.data.map((answer: any) => answer.text).sort(), ['den', 'sv']);
    assert.equal(body.pagination.total, 2);
    const refused = await admin.call('GET', `${path}?filter=language:elvish`);
    assert.deepEqual([refused.status, refused.body.details[0].path], [400, 'filter.0']);
  });

  it('selects by a language also what came in a regional form that is the survey’s own language', async () => {
    const { id } = await admin.create('/surveys', { title: 'Austria', language: 'de-AT', status: 'ACTIVE' });
    const choice = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Well?' });
    const languages = ['de', 'de-AT', 'de-CH', undefined, 'fr'];
    for (const language of languages) {
      const answers = [{ questionId: choice.id, textValue: 'yes' }];
      assert.equal((await admin.submit(id, { answers, ...(language && { language }) })).status, 201);
    }
    const path = `/analytics/surveys/${id}`;
    await eventually(async () => assert.equal((await admin.get(path)).totalResponses, languages.length));
    const counted = async (filter: string) => (await admin.get(`${path}?filter=${filter}`)).totalResponses;
    assert.deepEqual(await Promise.all(['language:de', 'language:de-AT', 'language:fr'].map(counted)), [4, 2, 1]);
    const { rows } = await admin.post(`${path}/crosstab`, { questionId1: 'language', questionId2: choice.id });
    assert.deepEqual(
      rows.map(({ value, total }: any) => [value, total]),
      [
        ['de-AT', 2],
        ['fr', 1],
        ['de', 2],
      ],
      'each response is in one row: that of the longest tag that fits it',
    );
  });

  it('selects Chinese by the script in which its region shows it', async () => {
    for (const [language, expected] of [
      ['en', { 'zh-Hant': 3, 'zh-Hans': 2, zh: undefined, other: 0 }],
      ['zh-TW', { 'zh-Hant': 3, 'zh-Hans': 2, 'zh-TW': 1, other: 0 }],
      ['zh', { 'zh-Hant': 3, 'zh-Hans': 2, zh: 5, other: 0 }],
    ] as const) {
      const { id } = await admin.create('/surveys', { title: 'Chinese', language, status: 'ACTIVE' });
      const given = ['zh-TW', 'zh-HK', 'zh-Hant', 'zh-CN', 'zh'];
      for (const tag of given) assert.equal((await admin.submit(id, { answers: [], language: tag })).status, 201);
      const path = `/analytics/surveys/${id}`;
      await eventually(async () => assert.equal((await admin.get(path)).totalResponses, given.length));
      for (const [tag, count] of Object.entries(expected)) {
        const { body } = await admin.call('GET', `${path}?filter=language:${tag}`);
        assert.equal(body.data?.totalResponses, count, `${tag} in a survey in ${language}`);
      }
    }
  });

  it('lays Chinese under its scripts also where the survey is in Chinese of no script', async () => {
    const { id } = await admin.create('/surveys', { title: 'Chinese', language: 'zh', status: 'ACTIVE' });
    const choice = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Well?' });
    const given = ['zh-TW', 'zh-HK', 'zh-CN', 'zh-Hant', 'zh', undefined];
    for (const language of given) {
      const answers = [{ questionId: choice.id, textValue: 'yes' }];
      assert.equal((await admin.submit(id, { answers, ...(language && { language }) })).status, 201);
    }
    const path = `/analytics/surveys/${id}`;
    await eventually(async () => assert.equal((await admin.get(path)).totalResponses, given.length));
    const { rows } = await admin.post(`${path}/crosstab`, { questionId1: 'language', questionId2: choice.id });
    assert.deepEqual(
      rows.map(({ value, total }: any) => [value, total]),
      [
        ['zh', 2],
        ['zh-Hans', 1],
        ['zh-Hant', 3],
      ],
    );
  });
});
