import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import exceljs from 'exceljs';
import { parquetReadObjects } from 'hyparquet';
import type { Client } from '../support/client.ts';
import { answersOf, createFullSurvey, type FullSurvey } from '../support/every-type.ts';
import type { RunningService } from '../support/service.ts';
import { type ExportsFixture, useExports } from '../support/use-exports.ts';

describe('an export', () => {
  let service: RunningService;
  let admin: Client;
  let full: FullSurvey;
  let sent: number;
  let file: ExportsFixture['file'];
  useExports((fixture) => ({ service, admin, full, sent, file } = fixture));

  const csv = (bytes: Buffer): Record<string, string>[] => parse(bytes, { bom: true, columns: true });

  it('gives a CSV that a parser reads back to every answer', async () => {
    const { record, bytes, reply } = await file({ format: 'CSV', labels: 'value' });
    assert.equal(record.rowCount, sent);
    assert.equal(record.progress, 1);
    assert.equal(record.error, null);
    assert.equal(record.fileSize, bytes.length);
    assert.equal(record.sha256, createHash('sha256').update(bytes).digest('hex'));
    assert.equal(reply.headers.get('content-type'), 'text/csv; charset=utf-8');
    assert.equal(bytes.subarray(0, 3).toString('hex'), 'efbbbf');
    const rows = csv(bytes);
    assert.equal(rows.length, sent);
    const heads = Object.keys(rows[0] ?? {});
    assert.deepEqual(heads.slice(0, 9), [
      'id',
      'surveyVersion',
      'submittedAt',
      'completedAt',
      'isComplete',
      'durationSeconds',
      'language',
      'respondent',
      'outcome',
    ]);
    assert.equal(heads.at(-1), 'metadata');
    const types = Object.keys(full.questions);
    const q = (type: keyof FullSurvey['questions'], key = '') => `Q${types.indexOf(type) + 1}${key && `:${key}`}`;
    assert.deepEqual(
      [heads.at(-2), rows.slice(0, 2).map((row) => row['metadata.source'])],
      ['metadata.source', ['mail', 'web']],
    );
    const [first, , , fourth] = rows;
    assert.equal(first?.[q('MULTIPLE_CHOICE')], 'red');
    assert.equal(fourth?.[q('MULTIPLE_CHOICE')], '__other__');
    assert.equal(fourth?.[q('MULTIPLE_CHOICE', '__other__')], 'Violet');
    assert.deepEqual(
      ['apple', 'pear', 'plum'].map((key) => first?.[q('CHECKBOXES', key)]),
      ['1', '1', '0'],
    );
    assert.equal(first?.[q('RATING_SCALE')], '1');
    assert.equal(first?.[q('NPS')], '0');
    assert.equal(first?.[q('MATRIX', 'food')], 'good');
    assert.equal(first?.[q('MATRIX', 'service')], 'bad');
    assert.deepEqual(
      ['one', 'two', 'three'].map((key) => first?.[q('RANKING', key)]),
      ['1', '2', '3'],
    );
    assert.equal(first?.[q('SHORT_TEXT')], 'Zoë “0” 😀');
    assert.equal(first?.[q('LONG_TEXT')], 'It was\na long day, a good day.');
    assert.equal(first?.[q('DATE')], '2024-02-29');
    assert.equal(first?.[q('FILE_UPLOAD')], '');
    assert.equal(first?.[q('YES_NO')], 'yes');
    assert.equal(first?.respondent, 'panel-0');
    assert.deepEqual(JSON.parse(first?.metadata ?? ''), { source: 'mail' });
    assert.match(first?.submittedAt ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('labels options with the author’s wording, or with their values on request', async () => {
    const [row] = csv((await file({ format: 'CSV' })).bytes);
    assert.equal(row?.['Which colour?'], 'Red');
    assert.equal(row?.['Which fruits? [Apple]'], '1');
    assert.equal(row?.['How was it? [Food]'], 'Good');
  });

  it('gives JSON and NDJSON with the answers that the API returns', async () => {
    const listed = (await admin.call('GET', `/responses/surveys/${full.id}?limit=100`)).body.data.reverse();
    const rows = JSON.parse((await file({ format: 'JSON' })).text);
    const plain = rows.map((row: any) => ({
      ...row,
      answers: row.answers.map(({ option: _option, row: _row, ...answer }: any) => answer),
    }));
    assert.deepEqual(
      plain,
      listed.map(({ collectorId: _collector, ...response }: any) => response),
    );
    assert.equal(rows[0].answers[0].option, 'Red');
    const lines = (await file({ format: 'NDJSON' })).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(lines, rows);
  });

  it('contains the survey version of each response, and the survey id on request, in every format', async () => {
    const columns = ['surveyVersion', 'surveyId'];
    const version = (await admin.get(`/surveys/${full.id}`)).version;
    const expected = { surveyVersion: version, surveyId: full.id };
    assert.deepEqual(csv((await file({ format: 'CSV', columns })).bytes)[0], {
      surveyVersion: String(version),
      surveyId: full.id,
    });
    const [{ answers: _answers, ...shown }] = JSON.parse((await file({ format: 'JSON', columns })).text);
    assert.deepEqual(shown, expected);
    const [row] = await parquetReadObjects({
      file: new Uint8Array((await file({ format: 'PARQUET', columns })).bytes).buffer,
    });
    assert.deepEqual(row, expected);
    const workbook = new exceljs.Workbook();
    await workbook.xlsx.load(new Uint8Array((await file({ format: 'EXCEL', columns })).bytes).buffer);
    assert.deepEqual((workbook.worksheets[0]?.getRow(2).values as unknown[] | undefined)?.slice(1), [version, full.id]);
    assert.ok((await file({ format: 'SPSS', columns })).bytes.includes('surveyVersion'));
  });

  it('gives a workbook with typed cells, a frozen head and a summary', async () => {
    const { bytes, record } = await file({ format: 'EXCEL', isComplete: true });
    assert.equal(record.rowCount, sent);
    const workbook = new exceljs.Workbook();
    await workbook.xlsx.load(new Uint8Array(bytes).buffer);
    assert.deepEqual(
      workbook.worksheets.map((sheet) => sheet.name),
      ['Responses', 'Summary'],
    );
    const sheet = workbook.worksheets[0];
    assert.ok(sheet);
    assert.equal(sheet.rowCount, sent + 1);
    assert.deepEqual(
      sheet.views.map(({ state }) => state),
      ['frozen'],
    );
    const heads = new Map<string, number>();
    sheet.getRow(1).eachCell((cell, column) => void heads.set(cell.text, column));
    const cell = (heading: string, row = 2) => sheet.getRow(row).getCell(heads.get(heading) ?? 0);
    assert.ok(cell('submittedAt').value instanceof Date);
    assert.equal(cell('isComplete').value, 1);
    assert.equal(cell('isComplete').numFmt, '"true";;"false"');
    assert.equal(cell('Which colour?').value, 'Red');
    assert.equal(cell('Which fruits? [Plum]').value, 0);
    assert.equal(cell('Your age?', 5).value, 23);
    assert.deepEqual(cell('Which day?').value, new Date('2024-02-29T00:00:00Z'));
    assert.equal(cell('Your story?').value, 'It was\na long day, a good day.');
    assert.equal(cell('A picture?').value, null);
    const summary = workbook.worksheets[1];
    const lines: unknown[][] = [];
    summary?.eachRow((row) => void lines.push((Array.isArray(row.values) ? row.values : []).slice(1)));
    assert.deepEqual(
      lines.find(([name]) => name === 'Responses'),
      ['Responses', sent],
    );
    assert.deepEqual(
      lines.find(([name]) => name === 'Green'),
      ['Green', 3, 25],
    );
  });

  it('gives a PDF report that names every question, in any script', async () => {
    const { bytes, record, reply } = await file({ format: 'PDF', isComplete: true });
    assert.equal(reply.headers.get('content-type'), 'application/pdf');
    assert.equal(record.rowCount, sent);
    assert.equal(bytes.subarray(0, 5).toString(), '%PDF-');
    assert.match(bytes.subarray(-8).toString(), /%%EOF/);
    assert.ok(
      Number(/\/Count (\d+)/.exec(bytes.toString('latin1'))?.[1]) >= 4,
      'seventeen questions take several pages',
    );
  });

  it('gives a PARQUET file with typed columns', async () => {
    const { bytes } = await file({ format: 'PARQUET', isComplete: true });
    const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer });
    assert.equal(rows.length, sent);
    const row = rows[3] ?? {};
    assert.ok(row['submittedAt'] instanceof Date);
    assert.equal(row['isComplete'], true);
    assert.equal(row['Which colour?'], 'Other');
    assert.equal(row['Which colour? [Other]'], 'Violet');
    assert.equal(row['Which fruits? [Plum]'], 0);
    assert.equal(row['Your age?'], 23);
    assert.deepEqual(row['Which day?'], new Date('2024-02-29T00:00:00Z'));
    assert.equal(row['A picture?'], null);
  });

  it('gives an SPSS file that PSPP reads with labels, missing values and response sets', {
    skip: spawnSync('pspp', ['--version']).error ? 'pspp is not installed' : false,
  }, async () => {
    const long = `${'длинный ответ '.repeat(60)}конец`;
    const [open] = [await createFullSurvey(admin, { title: 'SPSS' })];
    for (let n = 0; n < 4; n += 1)
      await admin.submit(open.id, {
        answers: answersOf(open, n).map((answer) =>
          answer['questionId'] === open.questions.LONG_TEXT.id && n === 2 ? { ...answer, textValue: long } : answer,
        ),
      });
    await admin.submit(open.id, {
      isComplete: false,
      answers: [{ questionId: open.questions.NPS.id, numberValue: 0 }],
    });
    const { bytes } = await file({ format: 'SPSS' }, open.id);
    const [sav, csvFile] = [join(service.dataDir, 'file.sav'), join(service.dataDir, 'file.csv')];
    writeFileSync(sav, bytes);
    const script = `GET FILE='${sav}'.\nDISPLAY DICTIONARY.\nMRSETS /DISPLAY NAME=ALL.\nFREQUENCIES /VARIABLES=Q1 Q4.\nSAVE TRANSLATE /OUTFILE='${csvFile}' /TYPE=CSV /FIELDNAMES /REPLACE.\n`;
    const run = spawnSync('pspp', ['-O', 'format=txt'], {
      input: script,
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    assert.equal(run.status, 0, run.stdout + run.stderr);
    assert.doesNotMatch(run.stdout + run.stderr, /warning|error/i);
    assert.match(run.stdout, /Which colour\?/);
    // The set's own line names its kind, the value counted and its variables.
    assert.match(run.stdout, /\$Q2[\s\S]*Dichotomies[\s\S]*Q2_1[\s\S]*Q2_2[\s\S]*Q2_3/);
    // Codes are counted under their labels, and who did not answer is missing.
    for (const label of ['Red', 'Green', 'Blue', 'Other'])
      assert.match(run.stdout, new RegExp(`${label} *\\| *1\\| *20\\.0%\\| *25\\.0%`));
    assert.match(run.stdout, /Missing \. *\| *1\| *20\.0%/);
    const rows: Record<string, string>[] = parse(readFileSync(csvFile), { columns: true });
    assert.equal(rows.length, 5);
    assert.deepEqual(
      rows.map((row) => row['Q5']),
      ['0', '1', '2', '3', '0'],
    );
    assert.equal(rows[2]?.['Q9'], long);
    assert.equal(rows[4]?.['Q9'], '');
    assert.equal(rows[4]?.['Q2_1']?.trim(), '');
    assert.deepEqual(
      [1, 2, 3].map((place) => rows[0]?.[`Q2_${place}`]),
      ['1', '1', '0'],
    );
    assert.equal(rows[3]?.['Q1_2'], 'Violet');
  });

  it('applies filters, dates, completeness and the requested columns', async () => {
    await admin.submit(full.id, {
      isComplete: false,
      answers: [{ questionId: full.questions.NPS.id, numberValue: 7 }],
    });
    const rows = csv(
      (
        await file({
          format: 'CSV',
          isComplete: true,
          filters: [`${full.questions.YES_NO.id}:yes`],
          columns: [full.questions.NPS.id, 'id', full.questions.YES_NO.id, 'metadata.source', 'metadata.none'],
          labels: 'value',
        })
      ).bytes,
    );
    assert.equal(rows.length, sent / 2);
    const [{ id = '', ...row } = {}] = rows;
    assert.deepEqual(row, { Q5: '0', Q16: 'yes', 'metadata.source': 'mail', 'metadata.none': '' });
    assert.match(id, /^[0-9a-f-]{36}$/);
    const [made, today] = [
      (await admin.get(`/surveys/${full.id}`)).createdAt.slice(0, 10),
      new Date().toISOString().slice(0, 10),
    ];
    assert.equal(
      (await file({ format: 'CSV', startDate: made, endDate: today, isComplete: true })).record.rowCount,
      sent,
    );
    assert.equal((await file({ format: 'CSV', endDate: '2020-01-01' })).record.rowCount, 0);
    assert.equal((await file({ format: 'JSON', endDate: '2020-01-01' })).text, '[]\n');
    assert.equal((await file({ format: 'CSV', isComplete: false })).record.rowCount, 1);
    assert.equal((await file({ format: 'CSV', outcome: 'PARTIAL' })).record.rowCount, 1);
    assert.equal((await file({ format: 'CSV', outcome: ['PARTIAL', 'COMPLETED'] })).record.rowCount, sent + 1);
    assert.equal((await file({ format: 'CSV', outcome: ['SCREENED_OUT'] })).record.rowCount, 0);
  });
});
