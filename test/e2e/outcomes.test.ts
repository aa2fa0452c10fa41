import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import exceljs from 'exceljs';
import { parquetReadObjects } from 'hyparquet';
import { type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { exportFile } from '../support/exports.ts';
import { adminEmail, adminPassword, type RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/**
 * A survey with a screen-out, a question that some are not asked, and a grid with a row that some do not see. Its six
 * responses: two are screened out, one is partial, three complete.
 */
describe('outcomes and bases', () => {
  let service: RunningService;
  let admin: Client;
  useService((served) => {
    ({ service, admin } = served);
  });
  let id: string;
  let questions: Record<'age' | 'car' | 'make' | 'grid' | 'nps', any>;

  before(async () => {
    ({ id } = await admin.create('/surveys', { title: 'Cars' }));
    const add = (body: object) => admin.create(`/surveys/${id}/questions`, body);
    const age = await add({ type: 'NUMBER', text: 'Age' });
    const car = await add({ type: 'YES_NO', text: 'A car?' });
    const hasCar = { questionId: car.id, operator: 'isAnyOf', optionIds: [car.options[0].id] };
    const make = await add({
      type: 'DROPDOWN',
      text: 'Which?',
      options: [{ text: 'A' }, { text: 'B' }],
      visibleIf: hasCar,
    });
    const grid = await add({
      type: 'MATRIX',
      text: 'How good?',
      options: [{ text: 'Bad' }, { text: 'Good' }],
      settings: { rows: [{ text: 'Bus' }, { text: 'Car', visibleIf: hasCar }] },
    });
    const nps = await add({ type: 'NPS', text: 'Recommend?' });
    await admin.put(`/surveys/questions/${age.id}`, {
      skips: [{ if: { questionId: age.id, operator: 'between', max: 17 }, to: 'SCREEN_OUT' }],
    });
    await admin.post(`/surveys/${id}/publish`);
    questions = { age, car, make, grid, nps };
    const aged = (numberValue: number) => ({ questionId: age.id, numberValue });
    const has = (index: number) => ({ questionId: car.id, optionId: car.options[index].id });
    const rates = (row: number) => ({
      questionId: grid.id,
      rowId: grid.settings.rows[row].id,
      optionId: grid.options[1].id,
    });
    const recommends = { questionId: nps.id, numberValue: 10 };
    const outcomes: string[] = [];
    for (const body of [
      { answers: [aged(12)] },
      { answers: [aged(16)] },
      { isComplete: false, answers: [aged(30), has(0)] },
      {
        answers: [
          aged(31),
          has(0),
          { questionId: make.id, optionId: make.options[0].id },
          rates(0),
          rates(1),
          recommends,
        ],
      },
      { answers: [aged(32), has(0), rates(0)] },
      { answers: [aged(33), has(1)] },
    ]) {
      const reply = await admin.submit(id, body);
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      outcomes.push(reply.body.data.outcome);
    }
    assert.deepEqual(outcomes, ['SCREENED_OUT', 'SCREENED_OUT', 'PARTIAL', 'COMPLETED', 'COMPLETED', 'COMPLETED']);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 6));
  });

  it('are a filter of the list, once or several times', async () => {
    const listed = async (query: string) =>
      (await admin.call('GET', `/responses/surveys/${id}?${query}`)).body.data
        .map(({ outcome, isComplete }: any) => `${outcome} ${isComplete}`)
        .sort();
    assert.deepEqual(await listed('outcome=SCREENED_OUT'), ['SCREENED_OUT true', 'SCREENED_OUT true']);
    assert.equal((await listed('outcome=PARTIAL&outcome=COMPLETED')).length, 4);
    assert.equal((await listed('isComplete=true')).length, 5);
    assert.deepEqual(await listed('isComplete=false'), ['PARTIAL false']);
    assert.deepEqual(await listed('outcome=OVER_QUOTA'), []);
    const wrong = await admin.call('GET', `/responses/surveys/${id}?outcome=LOST`);
    assert.deepEqual([wrong.status, wrong.body.details[0].path], [400, 'outcome']);
  });

  it('are counted in the head; questions leave out who was screened out unless asked for', async () => {
    const found = await admin.get(`/analytics/surveys/${id}`);
    assert.deepEqual(
      [found.totalResponses, found.completeResponses, found.completionRate, found.outcomes],
      [6, 3, 50, { PARTIAL: 1, COMPLETED: 3, SCREENED_OUT: 2, OVER_QUOTA: 0 }],
    );
    const counts = ({ responseCount, skippedCount, askedCount, notAskedCount }: any) => {
      assert.equal(askedCount, responseCount + skippedCount);
      return [responseCount, skippedCount, notAskedCount];
    };
    // Age, car, make, grid, recommendation of the partial one and the three complete ones.
    assert.deepEqual(found.questionStats.map(counts), [
      [4, 0, 0],
      [4, 0, 0],
      [1, 1, 2],
      [2, 1, 1],
      [1, 2, 1],
    ]);
    assert.deepEqual(found.questionStats[3].baseByRow, { bus: 2, car: 1 });
    assert.deepEqual(found.questionStats[3].askedByRow, { bus: 3, car: 2 });
    for (const [index, question] of Object.values(questions).entries())
      assert.deepEqual(
        await admin.get(`/analytics/surveys/${id}/questions/${question.id}`),
        found.questionStats[index],
      );
    const out = await admin.get(`/analytics/surveys/${id}?outcome=SCREENED_OUT`);
    assert.deepEqual(out.questionStats.map(counts), [
      [2, 0, 0],
      [0, 0, 2],
      [0, 0, 2],
      [0, 0, 2],
      [0, 0, 2],
    ]);
    const filtered = await admin.get(`/analytics/surveys/${id}?filter=outcome:SCREENED_OUT`);
    assert.deepEqual(filtered, out);
    const all = await admin.get(`/analytics/surveys/${id}?filter=${questions.car.id}:yes&isComplete=true`);
    assert.deepEqual(all.questionStats.map(counts)[4], [1, 1, 0]);
  });

  it('give percentages of those who were asked, if that is wanted, and say so', async () => {
    const path = `/analytics/surveys/${id}/questions/${questions.nps.id}`;
    const [answered, asked] = [await admin.get(path), await admin.get(`${path}?base=asked`)];
    assert.deepEqual([answered.base, answered.topBox], ['answered', { count: 1, percent: 100 }]);
    assert.deepEqual([asked.base, asked.topBox], ['asked', { count: 1, percent: (1 / 3) * 100 }]);
    assert.deepEqual(asked.nps, answered.nps);
    const whole = await admin.get(`/analytics/surveys/${id}?base=asked`);
    assert.deepEqual(whole.questionStats[4], asked);
    assert.equal((await admin.call('GET', `${path}?base=all`)).status, 400);
  });

  it('are a variable of crosstabs, which then count every outcome', async () => {
    const cross = (fields: object) => admin.post(`/analytics/surveys/${id}/crosstab`, fields);
    const named = (heads: any[]) => Object.fromEntries(heads.map(({ value, total }) => [value, total]));
    const table = await cross({ questionId1: 'outcome', questionId2: questions.car.id });
    assert.deepEqual(named(table.rows), { PARTIAL: 1, COMPLETED: 3, SCREENED_OUT: 0, OVER_QUOTA: 0 });
    assert.deepEqual(named(table.columns), { yes: 3, no: 1 });
    const both = await cross({ questionId1: 'outcome', questionId2: 'outcome' });
    assert.deepEqual(named(both.rows), { PARTIAL: 1, COMPLETED: 3, SCREENED_OUT: 2, OVER_QUOTA: 0 });
    const only = await cross({ questionId1: questions.car.id, questionId2: questions.car.id, outcome: 'COMPLETED' });
    assert.equal(only.total, 3);
    const filters = ['outcome:PARTIAL'];
    assert.equal((await cross({ questionId1: questions.car.id, questionId2: questions.car.id, filters })).total, 1);
    const wrong = await admin.call('POST', `/analytics/surveys/${id}/crosstab`, {
      body: { questionId1: 'outcome', rowId1: 'x', questionId2: questions.car.id, filters: ['outcome:LOST'] },
    });
    assert.deepEqual([wrong.status, wrong.body.details[0].path], [400, 'rowId1']);
  });

  it('show who skipped as a row or column of its own, not who was not asked', async () => {
    const cross = (fields: object) =>
      admin.post(`/analytics/surveys/${id}/crosstab`, { includeSkipped: true, ...fields });
    const totals = (heads: any[]) => heads.map(({ value, total }) => `${value} ${total}`);
    const table = await cross({ questionId1: questions.make.id, questionId2: questions.car.id });
    assert.deepEqual(totals(table.rows), ['a 1', 'b 0', '__skipped__ 1']);
    assert.deepEqual(totals(table.columns), ['yes 2', 'no 0', '__skipped__ 0']);
    const [, row] = questions.grid.settings.rows;
    const ofRow = await cross({ questionId1: questions.grid.id, rowId1: row.id, questionId2: questions.car.id });
    assert.deepEqual(totals(ofRow.rows), ['bad 0', 'good 1', '__skipped__ 1']);
    const other = await cross({ questionId1: questions.nps.id, questionId2: 'outcome' });
    assert.deepEqual(totals(other.rows).slice(-2), ['10 1', '__skipped__ 2']);
    const plain = await cross({ questionId1: questions.make.id, questionId2: questions.car.id, includeSkipped: false });
    assert.deepEqual(totals(plain.rows), ['a 1', 'b 0']);
  });

  it('are told apart in files where missing answers are labelled', async () => {
    const login = await createClient(service).call('POST', '/auth/login', {
      body: { email: adminEmail, password: adminPassword },
    });
    const token = login.body.data.accessToken;
    const file = async (body: object) => exportFile(service, admin, token, id, { labels: 'value', ...body });
    const rowsOf = (bytes: Buffer): Record<string, string>[] => parse(bytes, { bom: true, columns: true });
    const shown = ['outcome', 'Q1', 'Q2', 'Q3', 'Q4:bus', 'Q4:car', 'Q5'];
    const csv = rowsOf((await file({ format: 'CSV', missing: 'labelled' })).bytes);
    const no = '(not asked)';
    const expected = [
      ['SCREENED_OUT', '12', no, no, no, no, no],
      ['SCREENED_OUT', '16', no, no, no, no, no],
      ['PARTIAL', '30', 'yes', no, no, no, no],
      ['COMPLETED', '31', 'yes', 'a', 'good', 'good', '10'],
      ['COMPLETED', '32', 'yes', '', 'good', '', ''],
      ['COMPLETED', '33', 'no', no, '', no, ''],
    ];
    assert.deepEqual(
      csv.map((row) => shown.map((name) => row[name])),
      expected,
    );
    const plain = rowsOf((await file({ format: 'CSV' })).bytes);
    assert.deepEqual(
      plain.map((row) => shown.map((name) => row[name])),
      expected.map((line) => line.map((cell) => (cell === no ? '' : cell))),
    );
    const workbook = new exceljs.Workbook();
    await workbook.xlsx.load(new Uint8Array((await file({ format: 'EXCEL', missing: 'labelled' })).bytes).buffer);
    const [sheet] = workbook.worksheets;
    const heads = (sheet?.getRow(1).values ?? []) as string[];
    assert.deepEqual(
      expected.map((_, index) =>
        shown.map((name) => String(sheet?.getRow(index + 2).getCell(heads.indexOf(name)).value ?? '')),
      ),
      expected,
    );
    const json = JSON.parse((await file({ format: 'JSON', missing: 'labelled', outcome: 'COMPLETED' })).text);
    assert.deepEqual(
      json.map(({ statuses }: any) =>
        statuses.map(({ status, rows = [] }: any) => [status, ...rows.map((row: any) => row.status)].join(' ')),
      ),
      [
        ['ANSWERED', 'ANSWERED', 'ANSWERED', 'ANSWERED ANSWERED ANSWERED', 'ANSWERED'],
        ['ANSWERED', 'ANSWERED', 'SKIPPED', 'ANSWERED ANSWERED SKIPPED', 'SKIPPED'],
        ['ANSWERED', 'ANSWERED', 'NOT_ASKED', 'SKIPPED SKIPPED NOT_ASKED', 'SKIPPED'],
      ],
    );
    const { bytes } = await file({ format: 'PARQUET', missing: 'labelled', outcome: ['PARTIAL'] });
    const [partial] = await parquetReadObjects({ file: new Uint8Array(bytes).buffer });
    assert.deepEqual(
      ['Q2', 'Q2 (status)', 'Q3', 'Q3 (status)', 'Q4:bus (status)'].map((name) => partial?.[name]),
      ['yes', 'ANSWERED', null, 'NOT_ASKED', 'NOT_ASKED'],
    );
  });

  it('count nobody as asked who answered before a question or a row was added', async () => {
    const added = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'A bicycle?' });
    const rows = [...questions.grid.settings.rows, { text: 'Tram' }];
    await admin.put(`/surveys/questions/${questions.grid.id}`, { settings: { rows } });
    const aged = { questionId: questions.age.id, numberValue: 40 };
    for (const answers of [[aged], [aged, { questionId: added.id, textValue: 'yes' }]])
      assert.equal((await admin.submit(id, { answers })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 8));
    const { questionStats } = await admin.get(`/analytics/surveys/${id}?base=asked`);
    const { responseCount, skippedCount, notAskedCount } = questionStats[5];
    assert.deepEqual([responseCount, skippedCount, notAskedCount], [1, 1, 4]);
    assert.deepEqual(await admin.get(`/analytics/surveys/${id}/questions/${added.id}?base=asked`), questionStats[5]);
    assert.deepEqual(questionStats[3].askedByRow, { bus: 5, car: 2, tram: 2 });
    const table = await admin.post(`/analytics/surveys/${id}/crosstab`, {
      questionId1: added.id,
      questionId2: 'outcome',
      includeSkipped: true,
    });
    assert.deepEqual(
      table.rows.map(({ value, total }: any) => `${value} ${total}`),
      ['yes 1', 'no 0', '__skipped__ 1'],
    );
  });
});
