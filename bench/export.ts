import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createLog } from '../src/log.ts';
import { type ClickHouse, createClickHouse } from '../src/stores/clickhouse/client.ts';
import type { Client } from '../test/support/client.ts';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import { machineLine, option } from './support/machine.ts';
import { startBenchService } from './support/service.ts';
import { measureSlowdown, type OtherWork, type Slowdown } from './support/slowdown.ts';
import { medianOf } from './support/timing.ts';

/**
 * Files of one survey of twenty questions: `--responses N` (default 1,000,000), `--formats=CSV,PDF` (default all), each
 * requested over HTTP and timed from the request to COMPLETED. The limit is ClickHouse's own CSVWithNames of the same
 * rows and codes in the same run. Memory is the peak of the process that makes the file less what an empty export
 * takes. Then how much submissions are slowed while files are made (`--beside=CSV,JSON`, these by default; `--beside=`
 * for none), and a PDF of fifty questions.
 */
const responses = option('responses', 1_000_000);
const formats = (
  process.argv.find((word) => word.startsWith('--formats='))?.slice(10) ?? 'CSV,JSON,NDJSON,PARQUET,EXCEL,SPSS,PDF'
).split(',');
const rounds = 3;
const besideFormats = (process.argv.find((word) => word.startsWith('--beside='))?.slice(9) ?? 'CSV,JSON')
  .split(',')
  .filter(Boolean);
const types = [
  ...Array<string>(8).fill('MULTIPLE_CHOICE'),
  ...Array<string>(4).fill('RATING_SCALE'),
  'NPS',
  'NPS',
  'CHECKBOXES',
  'CHECKBOXES',
  'YES_NO',
  'NUMBER',
  'SHORT_TEXT',
  'SHORT_TEXT',
];
const options = ['Very good', 'Good', 'Neither, nor', 'Bad', 'Very bad'].map((text) => ({ text }));

console.log(machineLine());
const dataDir = temporaryDataDir();
const service = await startBenchService(dataDir);
try {
  await measure(service.client, createClickHouse({ urls: [service.clickhouseUrl], log: createLog('error') }));
} finally {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function measure(client: Client, clickhouse: ClickHouse): Promise<void> {
  const survey = await makeSurvey(client, types);
  const empty = await makeFile(client, survey, 'CSV');
  await fill(clickhouse, survey);
  console.log(`an empty file in ${empty.seconds.toFixed(2)} s`);
  const { limit, share } = await compareCsv(client, clickhouse, survey);
  const results: Record<string, { rowsPerSecond: number; seconds: number; megabytes: number; rssGrowthMb: number }> =
    {};
  for (const format of formats) {
    const { record, seconds, peakRssMb } = await makeFile(client, survey, format);
    if (record.status !== 'COMPLETED') {
      console.log(`${format.padEnd(8)} ${record.status}: ${record.error}`);
      continue;
    }
    const result = {
      rowsPerSecond: Math.round(record.rowCount / seconds),
      seconds: Math.round(seconds * 10) / 10,
      megabytes: Math.round(record.fileSize / 1e6),
      rssGrowthMb: peakRssMb - empty.peakRssMb,
    };
    results[format] = result;
    console.log(
      `${format.padEnd(8)} ${record.rowCount} rows in ${result.seconds} s: ${result.rowsPerSecond} rows/s, ${result.megabytes} MB, memory +${result.rssGrowthMb} MB over ${empty.peakRssMb} MB`,
    );
  }
  const slowing: Record<string, Slowdown> = {};
  for (const format of besideFormats) {
    const measured = await measureSlowdown(client, service.port, () => makeFilesContinuously(client, survey, format));
    slowing[format] = measured;
    console.log(
      `submissions while ${format} is made: ${measured.beside}/s (p99 ${measured.besideP99Ms} ms), else ${measured.alone}/s (p99 ${measured.aloneP99Ms} ms): slowed by ${(measured.slowedBy * 100).toFixed(1)} % (wanted ≤ 10)`,
    );
  }
  const wide = await makeSurvey(
    client,
    Array.from({ length: 50 }, (_, index) => types[index % types.length] ?? 'NPS'),
  );
  await client.submit(wide, { isComplete: false, answers: [] });
  const report = await makeFile(client, wide, 'PDF');
  console.log(`PDF of 50 questions in ${report.seconds.toFixed(1)} s (wanted ≤ 5)`);
  console.log(
    `wanted: CSV ≥ 100,000 rows/s and ≥ 0.3 of the limit (${share.toFixed(2)}); EXCEL ≥ 15,000 rows/s; memory ≤ +150 MB`,
  );
  console.log(
    JSON.stringify({
      bench: 'export',
      responses,
      limit,
      share,
      results,
      slowing,
      pdf50Seconds: Math.round(report.seconds * 10) / 10,
    }),
  );
}

/** The database's own CSV and ours in turn, so that both have the same machine; medians. */
async function compareCsv(
  client: Client,
  clickhouse: ClickHouse,
  survey: string,
): Promise<{ limit: number; share: number }> {
  const pairs: { limit: number; ours: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const limit = await measureLimit(clickhouse, survey);
    const { record, seconds } = await makeFile(client, survey, 'CSV');
    if (record.status !== 'COMPLETED') throw new Error(`the file was not made: ${record.error}`);
    pairs.push({ limit, ours: Math.round(record.rowCount / seconds) });
    console.log(`ClickHouse FORMAT CSVWithNames (limit)  ${limit} rows/s; CSV ${pairs.at(-1)?.ours} rows/s`);
  }
  const limit = medianOf(pairs.map((pair) => pair.limit));
  return { limit, share: medianOf(pairs.map((pair) => pair.ours)) / limit };
}

async function makeSurvey(client: Client, questionTypes: readonly string[]): Promise<string> {
  const survey = await client.create('/surveys', { title: 'Bench' });
  for (const [index, type] of questionTypes.entries())
    await client.create(`/surveys/${survey.id}/questions`, {
      type,
      text: `Question ${index + 1}`,
      ...(['MULTIPLE_CHOICE', 'CHECKBOXES'].includes(type) && { options }),
    });
  await client.post(`/surveys/${survey.id}/publish`);
  return survey.id;
}

/** Requests a file and measures the memory of the process that makes it. */
async function makeFile(
  client: Client,
  surveyId: string,
  format: string,
): Promise<{ record: any; seconds: number; peakRssMb: number }> {
  const startedAt = performance.now();
  const { exportId } = await client.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format });
  let peakRssMb = 0;
  for (;;) {
    peakRssMb = Math.max(peakRssMb, writerRssMb());
    const record = await client.get(`/exports/${exportId}`);
    if (record.status === 'COMPLETED' || record.status === 'FAILED')
      return { record, seconds: (performance.now() - startedAt) / 1000, peakRssMb };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Resident memory of the service's child that writes a file; 0 while there is none. */
function writerRssMb(): number {
  // ps fails where there is no child.
  const { stdout } = spawnSync('ps', ['-o', 'rss=,args=', '--ppid', String(service.pid)], { encoding: 'utf8' });
  const lines = stdout.split('\n');
  return Math.max(
    0,
    ...lines
      .filter((line) => line.includes('exports/child-process'))
      .map((line) => Math.round(Number.parseInt(line.trim(), 10) / 1024)),
  );
}

async function fill(clickhouse: ClickHouse, surveyId: string): Promise<void> {
  const codes = types.map((type, slot) =>
    type === 'CHECKBOXES'
      ? `rand(${slot}) % 32`
      : type === 'NPS'
        ? `1 + rand(${slot}) % 11`
        : type === 'NUMBER' || type === 'SHORT_TEXT'
          ? '1'
          : type === 'YES_NO'
            ? `1 + rand(${slot}) % 2`
            : `1 + rand(${slot}) % 5`,
  );
  const names = types.map((_, slot) => `c${slot}`).join(', ');
  const perInsert = 250_000;
  for (let from = 0; from < responses; from += perInsert)
    await clickhouse.command(
      `INSERT INTO ${clickhouse.table('responses')} (survey_id, response_id, submitted_at, version, is_deleted, survey_version, is_complete, completed_at, duration_ms, language, numbers, texts, ${names})
       SELECT '${surveyId}', generateUUIDv4(), fromUnixTimestamp64Milli(toInt64(1767225600000 + number * 2500), 'UTC') AS at, 1, 0, 1, 1, at, 30000 + rand(99) % 300000, 'en',
         [toFloat64(rand(98) % 100)], [concat('A short remark, number ', toString(number)), 'everything was as it should be'], ${codes.join(', ')}
       FROM numbers(${from}, ${Math.min(perInsert, responses - from)})`,
      { timeoutMs: 600_000 },
    );
}

/** Rows a second of the database's own CSV of the same columns, read to the end and discarded. */
async function measureLimit(clickhouse: ClickHouse, surveyId: string): Promise<number> {
  const columns = `response_id, submitted_at, completed_at, is_complete, duration_ms, language, respondent, metadata, numbers[1], texts[1], texts[2], ${types.map((_, slot) => `c${slot}`).join(', ')}`;
  const query = `SELECT ${columns} FROM ${clickhouse.table('responses')} FINAL WHERE survey_id = '${surveyId}' ORDER BY submitted_at, response_id FORMAT CSVWithNames`;
  const { origin, username, password } = new URL(service.clickhouseUrl);
  const startedAt = performance.now();
  const reply = await fetch(origin, {
    method: 'POST',
    body: query,
    headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
  });
  if (!reply.ok || !reply.body) throw new Error(`the database refused: ${(await reply.text()).slice(0, 200)}`);
  for await (const _ of reply.body);
  return Math.round(responses / ((performance.now() - startedAt) / 1000));
}

/** One file after the other until it is stopped; the last one is cancelled. */
function makeFilesContinuously(client: Client, surveyId: string, format: string): OtherWork {
  let isStopping = false;
  let current = '';
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const run = async () => {
    while (!isStopping) {
      current = (await client.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format })).exportId;
      for (;;) {
        const { status } = await client.get(`/exports/${current}`);
        if (status === 'FAILED') throw new Error('a file could not be made');
        if (status === 'PROCESSING') begin();
        if (status === 'COMPLETED' || isStopping) break;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
    await client.remove(`/exports/${current}`);
  };
  const done = run();
  done.catch(() => begin());
  return {
    begun,
    async stop(): Promise<void> {
      isStopping = true;
      await done;
    },
  };
}
