import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLog } from '../../src/log.ts';
import { assetPath } from '../../src/platform/assets.ts';
import { createPostgres } from '../../src/stores/postgres/client.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { answersOf, createFullSurvey } from '../support/every-type.ts';
import { exportFile } from '../support/exports.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

const main = fileURLToPath(new URL('../../src/replay/main.js', import.meta.url));
const folder = join(assetPath('.'), '..', 'shared', 'data');

interface Run {
  code: number;
  printed: string;
  said: string;
}

describe('npm run replay', () => {
  let service: RunningService;
  let admin: Client;
  let own: string;
  before(async () => {
    // All rows come from one address: without a limit of the survey's own they would take a minute for every sixty.
    service = await startService({ env: { RATE_LIMIT_SUBMIT: '60' } });
    admin = await adminClient(service);
    own = mkdtempSync(join(tmpdir(), 'survey-replay-'));
  });
  after(async () => {
    rmSync(own, { recursive: true, force: true });
    await service.stop();
  });

  const run = (...args: string[]) =>
    new Promise<Run>((resolve) => {
      const env = { ...process.env, ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: adminPassword };
      execFile(
        process.execPath,
        [main, ...args, '--url', service.origin],
        { env, maxBuffer: 1e8 },
        (error, printed, said) =>
          resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, printed, said }),
      );
    });
  const file = (name: string, text: string | Buffer): string => {
    writeFileSync(join(own, name), text);
    return join(own, name);
  };
  const surveyIn = ({ printed }: Run): string => /^survey (\S+):/m.exec(printed)?.[1] ?? '';
  const verifiedIn = ({ printed }: Run): number[] | undefined =>
    /\nverified: (\d+) cells of (\d+) questions equal\n$/.exec(printed)?.slice(1).map(Number);
  /** By the texts of options, as analytics has them. */
  const countsOf = async (surveyId: string, text: string): Promise<Record<string, number>> => {
    const { questions } = await admin.get(`/surveys/${surveyId}`);
    const question = questions.find((item: any) => item.text === text);
    const { distribution } = await admin.get(`/analytics/surveys/${surveyId}/questions/${question.id}`);
    return Object.fromEntries(question.options.map((option: any) => [option.text, distribution[option.value]]));
  };

  /** A file of real responses; where it is not beside the checkout the test is skipped and says so. */
  const real = (name: string, t: TestContext): string | undefined => {
    const path = join(folder, name);
    if (existsSync(path)) return path;
    t.skip(`${name} is not there: it belongs into ../shared/data, beside the project's folder`);
    return undefined;
  };

  it('verifies a semicolon-separated file with decimal commas, choices in one cell and times', async () => {
    const lines = ['Timestamp;Kanal;Pay;Again?', '2024-01-02 10:00;App|Web;1,5;ja', '2024-01-03 11:00;Web;NA;nein'];
    const done = await run(file('mixed.csv', [...lines, '2024-01-04 12:00;App;2;ja', ''].join('\n')));
    assert.equal(done.code, 0, done.printed + done.said);
    assert.equal(verifiedIn(done)?.[1], 3);
    assert.match(done.printed, /“Timestamp” is kept as the metadata answeredAt/);
    assert.deepEqual(await countsOf(surveyIn(done), 'Kanal'), { App: 2, Web: 2 });
  });

  it('prints each remark about the file once, before it submits', async () => {
    const { code, printed } = await run(file('remarks.csv', 'Again?;Pay\nja;1,5\nnein;2\nja;NA\n'));
    assert.equal(code, 0, printed);
    const lines = printed.split('\n');
    const placesOf = (start: string) => lines.flatMap((line, place) => (line.startsWith(start) ? [place] : []));
    const places = ['survey ', '“Again?”: “ja” is Yes', '“Pay”: taken as missing: “NA”', 'submitted 3 of 3'].map(
      placesOf,
    );
    assert.deepEqual(
      places.map(({ length }) => length),
      [1, 1, 1, 1],
      printed,
    );
    const order = places.flat();
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
      printed,
    );
  });

  it('imports a file with checkboxes, a ranking and a grid with the same counts', async (t) => {
    const path = real('star-wars-survey.csv', t);
    if (path === undefined) return;
    const done = await run(path, '--crosstab', 'Which character shot first?', 'Han Solo');
    assert.equal(done.code, 0, done.printed + done.said);
    assert.equal(verifiedIn(done)?.[1], 14);
    // Counted by hand in the file.
    const surveyId = surveyIn(done);
    assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).completeResponses, 1186);
    assert.deepEqual(await countsOf(surveyId, 'Gender'), { Male: 497, Female: 549 });
    assert.deepEqual(
      Object.values(
        await countsOf(surveyId, 'Which of the following Star Wars films have you seen? Please select all that apply.'),
      ),
      [673, 571, 550, 607, 758, 738],
    );
    const { questions } = await admin.get(`/surveys/${surveyId}`);
    assert.deepEqual(
      questions.map(({ type }: any) => type),
      [
        'YES_NO',
        'YES_NO',
        'CHECKBOXES',
        'RANKING',
        'MATRIX',
        'MULTIPLE_CHOICE',
        'YES_NO',
        'YES_NO',
        'YES_NO',
        'MULTIPLE_CHOICE',
        'MULTIPLE_CHOICE',
        'MULTIPLE_CHOICE',
        'MULTIPLE_CHOICE',
        'MULTIPLE_CHOICE',
      ],
    );
    assert.equal(questions[4].settings.rows.length, 14);
    assert.equal(
      questions[7].text,
      'Do you consider yourself to be a fan of the Expanded Universe?Œæ',
      'the bytes are Windows-1252',
    );
    const { data } = (await admin.call('GET', `/responses/surveys/${surveyId}?limit=1`)).body;
    assert.match(data[0].metadata.RespondentID, /^\d{10}$/);
  });

  it('imports a file of single choices with the same counts, and submits nothing twice when it is run again', async (t) => {
    const path = real('comma-survey.csv', t);
    if (path === undefined) return;
    const first = await run(path, '--title', 'The comma', '--crosstab', 'heard of the serial', 'Age');
    assert.equal(first.code, 0, first.printed + first.said);
    assert.equal(verifiedIn(first)?.[1], 12);
    const surveyId = surveyIn(first);
    assert.equal((await admin.get(`/surveys/${surveyId}`)).title, 'The comma');
    const again = await run(path, '--survey', surveyId);
    assert.equal(again.code, 0, again.printed + again.said);
    assert.match(again.printed, /the service had 1129 of them already/);
    assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 1129);
  });

  it('replays the exports of the service itself with the same counts: SPSS, Excel and CSV', async () => {
    const survey = await createFullSurvey(admin);
    for (let n = 0; n < 12; n += 1)
      assert.equal((await admin.submit(survey.id, { answers: answersOf(survey, n) })).status, 201);
    const original = await admin.get(`/surveys/${survey.id}`);
    for (const [format, ending] of [
      ['SPSS', 'sav'],
      ['EXCEL', 'xlsx'],
      ['CSV', 'csv'],
    ] as const) {
      const { bytes } = await exportFile(service, admin, admin.token ?? '', survey.id, { format });
      const done = await run(file(`own.${ending}`, bytes), '--title', `Own ${format}`);
      assert.equal(done.code, 0, done.printed + done.said);
      assert.match(done.printed, /Recognised as an export of this service; left out: /);
      const copy = await admin.get(`/surveys/${surveyIn(done)}`);
      const typeOf = ({ questions }: any, text: string) => questions.find((item: any) => item.text === text)?.type;
      for (const text of ['Which fruits?', 'How was it?', 'Do you agree?', 'Yes or no?', 'Rank these'])
        assert.equal(typeOf(copy, text), typeOf(original, text), `${format}: ${text}`);
      for (const text of ['Which colour?', 'Which fruits?', 'Do you agree?', 'Yes or no?', 'Which country?']) {
        const counts = await countsOf(copy.id, text);
        for (const [option, count] of Object.entries(await countsOf(survey.id, text)))
          assert.equal(counts[option] ?? 0, count, `${format}: ${text} ${option}`);
      }
    }
  });

  it('reports a response that is not in the file, and exits with 1', async () => {
    const path = file('small.csv', 'Seen?,Colour\nYes,red\nNo,blue\nYes,red\n,blue\n');
    const first = await run(path);
    assert.equal(first.code, 0, first.printed + first.said);
    const surveyId = surveyIn(first);
    const { questions } = await admin.get(`/surveys/${surveyId}`);
    assert.equal(
      (await admin.submit(surveyId, { answers: [{ questionId: questions[0].id, textValue: 'no' }] })).status,
      201,
    );
    // The run waits only for as many responses as the file has.
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 5));
    const again = await run(path, '--survey', surveyId);
    assert.equal(again.code, 1);
    assert.match(again.printed, /differs: responses · all: 4 in the file, 5 in the service/);
    assert.match(again.printed, /differs: Seen\? · no: 1 in the file, 2 in the service/);
    assert.match(again.printed, /not verified: \d+ of \d+ cells differ, 0 rows refused\n$/);
    assert.equal((await run(path, '--survey', surveyId, '--no-verify')).code, 0);
  });

  it('compares with all that a continued survey counts, also where rows are accepted a second time', async () => {
    const head = 'Seen?,Colour\n';
    const first = await run(file('once.csv', `${head}Yes,red\nNo,blue\nYes,red\n`));
    assert.equal(first.code, 0, first.printed + first.said);
    // Other bytes: the service takes the rows for others, as it does when it no longer knows them.
    const again = await run(file('twice.csv', `${head}Yes,red\nYes,red\nNo,blue\n`), '--survey', surveyIn(first));
    assert.equal(again.code, 1, again.printed);
    assert.match(again.printed, /differs: responses · all: 3 in the file, 6 in the service/);
  });

  it('does not continue a survey whose rows the service may no longer know', async () => {
    const path = file('old.csv', 'Seen?,Colour\nYes,red\nNo,blue\n');
    const first = await run(path);
    const surveyId = surveyIn(first);
    const sql = createPostgres((await sharedStores()).databaseUrl, { log: createLog('silent'), poolSize: 1 });
    const isMade = (hoursAgo: number) =>
      sql`UPDATE surveys SET created_at = now() - make_interval(hours => ${hoursAgo}) WHERE id = ${surveyId}`;
    await isMade(48);
    const late = await run(path, '--survey', surveyId);
    await isMade(46);
    const inTime = await run(path, '--survey', surveyId);
    await sql.end();
    assert.equal(late.code, 1, late.printed);
    assert.match(
      late.said,
      new RegExp(`survey ${surveyId} has 2 responses and was made more than 47 hours ago.* replay it without --survey`),
    );
    assert.equal(inTime.code, 0, inTime.printed + inTime.said);
    assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 2);
  });

  it('counts numbers, days, times, addresses and texts as they are in the file', async () => {
    const rows = Array.from({ length: 60 }, (_, n) => [
      `r${n}`,
      n % 7 === 3 ? '' : String(n * 1.5 - 20),
      `${(n % 12) + 1}/${(n % 28) + 1}/2024`,
      `${String(n % 24).padStart(2, '0')}:30`,
      n % 9 === 0 ? '' : `p${n}@${n % 2 ? 'Example.org' : 'exämple.net'}`,
      `"It was a ""long"" day, number ${n}\nand ended ${n % 5 ? 'well' : 'badly – ÇA VA'}"`,
      ['Agree', 'Disagree', 'Strongly agree'][n % 3],
      String((n % 5) + 1),
      String(n % 11),
      `c${n % 15}`,
    ]);
    const path = file(
      'every.csv',
      [
        'participant id,How much?,When?,What time?,Mail,Tell us,Fine?,Mark,Recommend?,Which?',
        ...rows.map((row) => row.join(',')),
      ].join('\r\n'),
    );
    const mapping = file(
      'mapping.json',
      JSON.stringify({
        columns: { Mark: { type: 'RATING_SCALE' }, 8: { type: 'NPS', question: 'Would you recommend it?' } },
      }),
    );
    const done = await run(path, '--mapping', mapping, '--crosstab', 'Mark', 'Fine?');
    assert.equal(done.code, 0, done.printed + done.said);
    assert.equal(verifiedIn(done)?.[1], 9);
    const { questions } = await admin.get(`/surveys/${surveyIn(done)}`);
    assert.deepEqual(
      questions.map(({ type }: any) => type),
      ['NUMBER', 'DATE', 'TIME', 'EMAIL', 'LONG_TEXT', 'LIKERT_SCALE', 'RATING_SCALE', 'NPS', 'DROPDOWN'],
    );
    assert.equal(questions[7].text, 'Would you recommend it?');
  });

  it('leaves out invalid rankings, reports their number, and submits the rest of their rows', async () => {
    const rows = ['1,2,3,a', '2,1,3,b', '3,2,1,a', '1,3,2,b', '2,3,1,a', '1,1,2,b', '1,,3,a', '2,1,,b'];
    const done = await run(file('ranks.csv', ['Rank them,,,Group', 'One,Two,Three,Response', ...rows].join('\n')));
    assert.equal(done.code, 0, done.printed + done.said);
    assert.match(done.printed, /\[RANKING: 6 answered, 2 not\]/);
    assert.match(done.printed, /left out: 1 rankings that give a rank twice/);
    assert.match(done.printed, /left out: 1 rankings with a gap between the ranks/);
    assert.deepEqual(await countsOf(surveyIn(done), 'Group'), { a: 4, b: 4 });
  });

  it('continues a partly imported survey, reports refused rows, and submits the others', async () => {
    const path = file('required.csv', 'Seen?,Colour\nYes,red\n,blue\nYes,red\nNo,blue\n');
    const survey = await admin.create('/surveys', { title: 'Half made' });
    await admin.create(`/surveys/${survey.id}/questions`, { type: 'YES_NO', text: 'Seen?', isRequired: true });
    const { code, printed } = await run(path, '--survey', survey.id);
    assert.equal(code, 1);
    assert.match(printed, /submitted 3 of 4 rows/);
    assert.match(printed, /refused: row 2: POST .* was refused with 400: /);
    assert.match(printed, /not verified: 0 of \d+ cells differ, 1 rows refused\n$/);
    assert.deepEqual(await countsOf(survey.id, 'Colour'), { red: 2, blue: 1 });
    const other = await run(file('other.csv', 'Heard?,Colour\nYes,red\nNo,red\n'), '--survey', survey.id);
    assert.equal(other.code, 1);
    assert.match(other.said, /question 1 of the survey \(“Seen\?”, YES_NO\) is not the file's/);
  });

  it('reports wrong arguments and files before it calls the service', async () => {
    const path = file('plain.csv', 'Colour\nred\nred\nblue\nblue\n');
    const before = (await admin.call('GET', '/surveys?limit=1')).body.pagination.total;
    for (const [args, message] of [
      [[path, '--crosstab', 'Colour', 'Shape'], /No question reads “Shape”/],
      [[join(own, 'none.csv')], /ENOENT/],
      [[file('broken.csv', 'a,b\n"1,2\n')], /Quote Not Closed/],
      [[path, '--mapping', file('odd.json', '{"columns":{"Shape":{}}}')], /names “Shape”/],
    ] as const) {
      const { code, said } = await run(...args);
      assert.equal(code, 1);
      assert.match(said, message);
    }
    const detected = await run(path, '--detect');
    assert.deepEqual(
      [detected.code, detected.printed],
      [0, '4 rows, 1 questions\n1. Colour  [MULTIPLE_CHOICE, 2 options]\n'],
    );
    assert.equal((await admin.call('GET', '/surveys?limit=1')).body.pagination.total, before);
    assert.equal((await run()).code, 2);
  });
});
