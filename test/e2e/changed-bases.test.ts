import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import exceljs from 'exceljs';
import { parquetReadObjects } from 'hyparquet';
import { type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { exportFile } from '../support/exports.ts';
import { makeInvitations } from '../support/invitations.ts';
import { adminEmail, adminPassword, type RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/** Surveys whose questions and rows are moved or removed while responses come in. */
describe('bases of surveys that change', () => {
  let service: RunningService;
  let admin: Client;
  let token: string;
  useService((served) => {
    ({ service, admin } = served);
  });
  before(async () => {
    const login = await createClient(service).call('POST', '/auth/login', {
      body: { email: adminEmail, password: adminPassword },
    });
    token = login.body.data.accessToken;
  });

  it('follow the order in which each respondent was asked, also after the questions were moved', async () => {
    const shuffled = await admin.create('/surveys', { title: 'Shuffled' });
    const section = await admin.create(`/surveys/${shuffled.id}/sections`, { title: 'All', isShuffled: true });
    const asked: any[] = [];
    for (let number = 1; number <= 6; number += 1)
      asked.push(
        await admin.create(`/surveys/${shuffled.id}/questions`, {
          type: 'YES_NO',
          text: `Question ${number}?`,
          sectionId: section.id,
        }),
      );
    await admin.post(`/surveys/${shuffled.id}/publish`);
    const expected = new Map<string, string[]>(asked.map(({ id: questionId }) => [questionId, []]));
    const statuses = ['ANSWERED', 'SKIPPED', 'ANSWERED', 'NOT_ASKED', 'NOT_ASKED', 'NOT_ASKED'];
    for (let respondent = 0; respondent < 10; respondent += 1) {
      const responseId = randomUUID();
      const path = await admin.post(`/public/surveys/${shuffled.id}/path`, { answers: [], responseId });
      const order: string[] = path.sections[0].questions.map((question: any) => question.id);
      for (const [place, questionId] of order.entries()) expected.get(questionId)?.push(statuses[place] ?? '');
      const answers = [order[0], order[2]].map((questionId) => ({ questionId, textValue: 'yes' }));
      const reply = await admin.submit(shuffled.id, { answers, responseId, isComplete: false });
      assert.equal(reply.status, 201);
    }
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${shuffled.id}`)).totalResponses, 10),
    );
    const compare = async () => {
      const { questionStats } = await admin.get(`/analytics/surveys/${shuffled.id}?base=asked`);
      const ordered = questionStats.map(({ questionId }: any) => expected.get(questionId) ?? []);
      const count = (list: string[], status: string) => list.filter((one) => one === status).length;
      assert.deepEqual(
        questionStats.map((one: any) => [one.responseCount, one.skippedCount, one.notAskedCount]),
        ordered.map((list: string[]) => ['ANSWERED', 'SKIPPED', 'NOT_ASKED'].map((status) => count(list, status))),
      );
      const [{ questionId, skippedCount }] = questionStats;
      assert.deepEqual(
        await admin.get(`/analytics/surveys/${shuffled.id}/questions/${questionId}?base=asked`),
        questionStats[0],
      );
      const table = await admin.post(`/analytics/surveys/${shuffled.id}/crosstab`, {
        questionId1: questionId,
        questionId2: 'outcome',
        includeSkipped: true,
      });
      assert.equal(table.rows.at(-1).total, skippedCount);
      const options = { format: 'CSV', missing: 'labelled', labels: 'value' };
      const file = await exportFile(service, admin, token, shuffled.id, options);
      const rows: Record<string, string>[] = parse(file.bytes, { bom: true, columns: true });
      const shown: Record<string, string> = { ANSWERED: 'yes', SKIPPED: '', NOT_ASKED: '(not asked)' };
      for (const [place, list] of ordered.entries())
        assert.deepEqual(
          rows.map((row) => row[`Q${place + 1}`] ?? '').sort(),
          list.map((status: string) => shown[status] ?? '').sort(),
        );
    };
    await compare();
    const moved = [...asked].reverse().map(({ id: questionId }) => questionId);
    await admin.post(`/surveys/${shuffled.id}/questions/reorder`, { questionIds: moved });
    await compare();
  });

  it('follow the designed order in a part that names no response, since that is shown without one', async () => {
    const { id: surveyId } = await admin.create('/surveys', { title: 'Shuffled without an id' });
    const section = await admin.create(`/surveys/${surveyId}/sections`, { title: 'All', isShuffled: true });
    for (const text of ['q0', 'q1', 'q2', 'q3', 'q4', 'q5'])
      await admin.create(`/surveys/${surveyId}/questions`, { type: 'YES_NO', text, sectionId: section.id });
    await admin.post(`/surveys/${surveyId}/publish`);
    const path = await admin.post(`/public/surveys/${surveyId}/path`, { answers: [] });
    const [first] = path.sections[0].questions;
    const answers = [{ questionId: first.id, textValue: 'yes' }];
    const parts: any[] = [];
    for (let respondent = 0; respondent < 10; respondent += 1)
      parts.push((await admin.submit(surveyId, { answers, isComplete: false })).body.data);
    const notAsked = async () =>
      (await admin.get(`/analytics/surveys/${surveyId}`)).questionStats.map((one: any) => one.notAskedCount);
    await eventually(async () => assert.deepEqual(await notAsked(), [0, 10, 10, 10, 10, 10]));
    // From here on the client has an id, and each respondent an order.
    const [{ responseId, resumeToken }] = parts;
    const own = await admin.post(`/public/surveys/${surveyId}/path`, { answers, responseId });
    const last = { questionId: own.sections[0].questions.at(-1).id, textValue: 'no' };
    const next = { responseId, resumeToken, answers: [last], isComplete: false };
    assert.equal((await admin.submit(surveyId, next)).status, 201);
    await eventually(async () => assert.deepEqual(await notAsked(), [0, 9, 9, 9, 9, 9]));
  });

  it('follow the order that is shown to an invitation, whose response the client does not name', async () => {
    const { id: surveyId } = await admin.create('/surveys', { title: 'Shuffled for the invited', isShuffled: true });
    const expected = new Map<string, number>();
    for (const title of ['One', 'Two', 'Three', 'Four']) {
      const { id: sectionId } = await admin.create(`/surveys/${surveyId}/sections`, { title });
      const asked = await admin.create(`/surveys/${surveyId}/questions`, { type: 'YES_NO', text: title, sectionId });
      expected.set(asked.id, 10);
    }
    await admin.post(`/surveys/${surveyId}/publish`);
    const collector = await admin.create(`/surveys/${surveyId}/collectors`, { name: 'List', kind: 'INVITATION' });
    const rows = Array.from({ length: 10 }, () => ({}));
    for (const { token: invitation } of await makeInvitations(service, admin, collector.id, rows)) {
      const path = await admin.post(`/public/surveys/${surveyId}/path`, { answers: [], invitation });
      const [first] = path.sections[0].questions;
      expected.set(first.id, (expected.get(first.id) ?? 0) - 1);
      const answers = [{ questionId: first.id, textValue: 'yes' }];
      assert.equal((await admin.submit(surveyId, { answers, invitation, isComplete: false })).status, 201);
    }
    await eventually(async () => {
      const { questionStats } = await admin.get(`/analytics/surveys/${surveyId}`);
      assert.deepEqual(
        questionStats.map(({ notAskedCount }: any) => notAskedCount),
        [...expected.values()],
      );
    });
  });

  it('are those of the former version where a respondent saw it, whatever was shuffled or asked since', async () => {
    /** A survey of two sections with a question each, its version, and what to do with it. */
    const made = async (fields: object = {}) => {
      const { id } = await admin.create('/surveys', { title: 'Changed later' });
      const asked: any[] = [];
      for (const title of ['One', 'Other']) {
        const { id: sectionId } = await admin.create(`/surveys/${id}/sections`, { title });
        asked.push(await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: title, sectionId }));
      }
      const [one, other] = asked;
      if (Object.keys(fields).length > 0) await admin.put(`/surveys/questions/${other.id}`, fields);
      await admin.post(`/surveys/${id}/publish`);
      const { version } = await admin.get(`/surveys/${id}`);
      const answers = [{ questionId: one.id, textValue: 'no' }];
      const submit = async (body: object): Promise<any> => {
        const reply = await admin.submit(id, { answers, ...body });
        assert.equal(reply.status, 201, JSON.stringify(reply.body));
        return reply.body.data;
      };
      /** Answered, skipped, not asked: of the second question. */
      const counts = async () => {
        const { responseCount, skippedCount, notAskedCount } = await admin.get(
          `/analytics/surveys/${id}/questions/${other.id}`,
        );
        return [responseCount, skippedCount, notAskedCount];
      };
      return { id, one, other, version, submit, counts };
    };
    const shuffled = await made({ visibleIf: { language: ['en'] } });
    await admin.put(`/surveys/${shuffled.id}`, { isShuffled: true });
    for (let part = 0; part < 10; part += 1)
      await shuffled.submit({ isComplete: false, surveyVersion: shuffled.version });
    const { id, one, other, version, submit, counts } = await made();
    const visibleIf = { questionId: one.id, operator: 'isAnyOf', optionIds: [one.options[0].id] };
    await admin.put(`/surveys/questions/${other.id}`, { visibleIf });
    const { version: surveyVersion } = await admin.get(`/surveys/${id}`);
    const { responseId, resumeToken } = await submit({ isComplete: false, surveyVersion });
    await submit({ responseId, resumeToken, surveyVersion: version });
    await submit({ surveyVersion: version });
    await eventually(async () => assert.deepEqual(await shuffled.counts(), [0, 0, 10]));
    await eventually(async () => assert.deepEqual(await counts(), [0, 2, 0]));
  });

  it('ask nobody for a row or a question after its removal, in figures and in every file', async () => {
    const { id: surveyId } = await admin.create('/surveys', { title: 'Removed', status: 'ACTIVE' });
    const add = (body: object) => admin.create(`/surveys/${surveyId}/questions`, body);
    const texts = { type: 'MATRIX', text: 'How good?', options: [{ text: 'Bad' }, { text: 'Good' }] };
    const grid = await add({ ...texts, settings: { rows: [{ text: 'r1' }, { text: 'r2' }] } });
    const gone = await add({ type: 'NUMBER', text: 'Gone?' });
    const [r1, r2] = grid.settings.rows;
    const rated = (row: any) => ({ questionId: grid.id, rowId: row.id, optionId: grid.options[1].id });
    const submit = async (answers: object[]) =>
      assert.equal((await admin.submit(surveyId, { answers })).status, 201, JSON.stringify(answers));
    await submit([rated(r1), rated(r2), { questionId: gone.id, numberValue: 7 }]);
    await submit([rated(r1)]);
    await admin.put(`/surveys/questions/${grid.id}`, { settings: { rows: [r1, { text: 'r3' }] } });
    const deletion = await admin.call('DELETE', `/surveys/${surveyId}/questions/${gone.id}`);
    assert.equal(deletion.status, 200);
    const changed = (await admin.get(`/surveys/${surveyId}`)).questions[0];
    const [, r3] = changed.settings.rows;
    for (let respondent = 0; respondent < 3; respondent += 1) await submit([rated(r1), rated(r3)]);
    const path = `/analytics/surveys/${surveyId}`;
    await eventually(async () => assert.equal((await admin.get(path)).totalResponses, 5));
    const { questionStats } = await admin.get(`${path}?base=asked`);
    assert.deepEqual(questionStats[0].askedByRow, { r1: 5, r2: 2, r3: 3 });
    const crossed = { questionId1: grid.id, rowId1: 'r2', questionId2: 'outcome', includeSkipped: true };
    const { rows } = await admin.post(`${path}/crosstab`, crossed);
    assert.deepEqual([rows.at(-1).value, rows.at(-1).total], ['__skipped__', 1]);

    const file = (format: string) =>
      exportFile(service, admin, token, surveyId, {
        format,
        missing: 'labelled',
        labels: 'value',
        columns: [grid.id, gone.id],
      });
    const no = '(not asked)';
    const csv: Record<string, string>[] = parse((await file('CSV')).bytes, { bom: true, columns: true });
    const expected = [['good', '7'], ['', ''], ...[1, 2, 3].map(() => [no, no])];
    assert.deepEqual(
      csv.map((row) => [row['Q1:r2'], row['Q2']]),
      expected,
    );
    const json = JSON.parse((await file('JSON')).text);
    const statuses = ['ANSWERED', 'SKIPPED', 'NOT_ASKED', 'NOT_ASKED', 'NOT_ASKED'];
    const ofRow2 = ({ rows: listed }: any) => listed.find(({ rowId }: any) => rowId === r2.id).status;
    assert.deepEqual(
      json.map((response: any) => [ofRow2(response.statuses[0]), response.statuses[1].status]),
      statuses.map((status) => [status, status]),
    );
    const parquet = await parquetReadObjects({ file: new Uint8Array((await file('PARQUET')).bytes).buffer });
    assert.deepEqual(
      parquet.map((row) => row['Q2 (status)']),
      statuses,
    );
    const workbook = new exceljs.Workbook();
    await workbook.xlsx.load(new Uint8Array((await file('EXCEL')).bytes).buffer);
    const [sheet, summary] = workbook.worksheets;
    const heads = (sheet?.getRow(1).values ?? []) as string[];
    assert.deepEqual(
      expected.map((_, index) =>
        ['Q1:r2', 'Q2'].map((name) => String(sheet?.getRow(index + 2).getCell(heads.indexOf(name)).value ?? '')),
      ),
      expected,
    );
    const counts: unknown[] = [];
    summary?.eachRow((row) => {
      if (row.getCell(1).value === 'Not asked') counts.push(row.getCell(2).value);
    });
    assert.deepEqual(counts, [3]);
  });

  it('are unchanged where a later question is deleted that was answered', async () => {
    const { id: surveyId } = await admin.create('/surveys', { title: 'Passed', status: 'ACTIVE' });
    const asked: any[] = [];
    for (const text of ['q0', 'q1', 'q2', 'q3'])
      asked.push(await admin.create(`/surveys/${surveyId}/questions`, { type: 'YES_NO', text }));
    const answers = [asked[0], asked[2]].map(({ id: questionId }) => ({ questionId, textValue: 'yes' }));
    for (let respondent = 0; respondent < 5; respondent += 1)
      assert.equal((await admin.submit(surveyId, { answers, isComplete: false })).status, 201);
    const path = `/analytics/surveys/${surveyId}`;
    await eventually(async () => assert.equal((await admin.get(path)).totalResponses, 5));
    const counts = async () => {
      const { questionStats } = await admin.get(path);
      for (const statistic of questionStats)
        assert.deepEqual(await admin.get(`${path}/questions/${statistic.questionId}`), statistic);
      const crossed = { questionId1: asked[1].id, questionId2: 'outcome', includeSkipped: true };
      const options = { missing: 'labelled', labels: 'value', columns: [asked[1].id, asked[3].id] };
      const file = async (format: string) => exportFile(service, admin, token, surveyId, { format, ...options });
      const csv: string[][] = parse((await file('CSV')).bytes, { bom: true, from: 2 });
      return {
        figures: [0, 1, 3].map((index) => {
          const found = questionStats.find(({ questionId }: any) => questionId === asked[index].id);
          return [found.responseCount, found.skippedCount, found.notAskedCount];
        }),
        skipped: (await admin.post(`${path}/crosstab`, crossed)).rows.at(-1).total,
        csv: csv[0],
        json: JSON.parse((await file('JSON')).text)[0].statuses.map(({ status }: any) => status),
      };
    };
    const before = await counts();
    assert.deepEqual(before, {
      figures: [
        [5, 0, 0],
        [0, 5, 0],
        [0, 0, 5],
      ],
      skipped: 5,
      csv: ['', '(not asked)'],
      json: ['SKIPPED', 'NOT_ASKED'],
    });
    const deletion = await admin.call('DELETE', `/surveys/${surveyId}/questions/${asked[2].id}`);
    assert.equal(deletion.status, 200);
    assert.deepEqual(await counts(), before);
  });
});
