import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';

/** A question of the benches: single choice among `options`, or several of them as bits. */
export interface BenchQuestion {
  slot: number;
  options: number;
  isBits: boolean;
}

export const benchQuestions: readonly BenchQuestion[] = [5, 4, 11, 5, 2, 7, 5, 30, 101, 8].map((options, slot) => ({
  slot,
  options,
  isBits: slot === 9,
}));

/**
 * The survey that is measured unless another is named, and others whose rows lie among its own. This one stands between
 * them in the sorting key.
 */
export const benchSurveyId = '01900000-0000-7000-8000-000000000002';
const otherSurveyIds = [
  '01900000-0000-7000-8000-000000000001',
  '01900000-0000-7000-8000-000000000003',
  '01900000-0000-7000-8000-000000000004',
];

const maxRowsPerInsert = 1_000_000;
const fillTimeoutMs = 10 * 60_000;
const firstMs = Date.parse('2026-01-10T00:00:00Z');
const spanMs = 60 * 86_400_000;
const columns =
  'survey_id, response_id, submitted_at, version, is_deleted, survey_version, is_complete, completed_at, duration_ms, language';
const codes = benchQuestions.map(({ slot }) => `c${slot}`).join(', ');

/** A NUMBER question of the measured survey that can serve as a weight, 0.5 to 1.99; one in twenty gives none. */
export const benchWeight = { slot: 0, presence: benchQuestions.length };
const stored = `${codes}, c${benchWeight.presence}, numbers`;

/**
 * Fills `responses` on the server: `responses` rows of the measured survey over 60 days and three tenths as many of
 * others, in parts as a busy service leaves them: old ones merged, newer ones ever smaller, and in the newest some
 * merges and deletions of old responses. Leaves background merging stopped.
 */
export async function fillResponses(
  clickhouse: ClickHouse,
  responses: number,
  surveyId: string = benchSurveyId,
): Promise<void> {
  const all = Math.ceil(responses * 1.3);
  const oldRows = Math.ceil(all * 0.7);
  const insert = async (from: number, rows: number) =>
    insertOnePart(
      clickhouse,
      `INSERT INTO ${clickhouse.table('responses')} (${columns}, ${stored}) SELECT ${freshRow(all, surveyId)} FROM numbers(${from}, ${rows})`,
    );
  for (let from = 0; from < oldRows; from += maxRowsPerInsert)
    await insert(from, Math.min(maxRowsPerInsert, oldRows - from));
  await mergeParts(clickhouse);
  await clickhouse.command(`SYSTEM STOP MERGES ${clickhouse.table('responses')}`);
  for (let from = oldRows; from < all; ) {
    const rows = Math.min(maxRowsPerInsert, Math.max(1000, Math.ceil((all - from) / 2)), all - from);
    await insert(from, rows);
    from += rows;
  }
  await mergeSome(clickhouse, Math.max(1, Math.floor(responses / 200)));
}

async function insertOnePart(clickhouse: ClickHouse, statement: string): Promise<void> {
  const oneBlock =
    'max_insert_threads = 1, max_block_size = 1000000, max_insert_block_size = 100000000, min_insert_block_size_rows = 100000000, min_insert_block_size_bytes = 100000000000';
  await clickhouse.command(`${statement} SETTINGS ${oneBlock}`, { timeoutMs: fillTimeoutMs });
}

function freshRow(all: number, surveyId: string): string {
  const survey = `toUUID(if(number % 13 < 10, '${surveyId}', arrayElement(['${otherSurveyIds.join("', '")}'], toUInt8(number % 13 - 9))))`;
  const moment = `fromUnixTimestamp64Milli(toInt64(${firstMs} + number * ${spanMs / all}), 'UTC')`;
  const upper =
    'bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(submitted_at)), 80), bitShiftLeft(toUInt128(0x7000 + rand(1) % 4096), 64))';
  const id = `reinterpret(bitOr(${upper}, bitOr(toUInt128(0x8000000000000000), toUInt128(rand64(2) % 4611686018427387904))), 'UUID')`;
  const answers = benchQuestions.map(({ options, isBits }, index) =>
    isBits
      ? `rand(${10 + index}) % ${2 ** options}`
      : `if(rand(${50 + index}) % 20 = 0, 0, 1 + rand(${10 + index}) % ${options})`,
  );
  return `${survey}, ${id}, ${moment} AS submitted_at, 1, 0, 1, number % 20 != 0, submitted_at, 30000 + rand(3) % 300000, 'en', ${answers.join(', ')}, rand(4) % 20 != 0, [0.5 + (rand(5) % 150) / 100]`;
}

/**
 * Of every `everyNth` responses one is merged and one deleted long after it was stored: that entangles old and new
 * parts.
 */
async function mergeSome(clickhouse: ClickHouse, everyNth: number): Promise<void> {
  const table = clickhouse.table('responses');
  const newer = (version: string, isDeleted: number) =>
    `SELECT survey_id, response_id, submitted_at, ${version}, ${isDeleted}, survey_version, is_complete, completed_at, duration_ms, language, ${stored} FROM ${table}`;
  await insertOnePart(
    clickhouse,
    `INSERT INTO ${table} (${columns}, ${stored}) ${newer('version + 1', 0)} WHERE cityHash64(response_id) % ${everyNth} = 0`,
  );
  await insertOnePart(
    clickhouse,
    `INSERT INTO ${table} (${columns}, ${stored}) ${newer('4294967295', 1)} WHERE cityHash64(response_id) % ${everyNth} = 1`,
  );
}

/** What a table at rest becomes by itself: one part a month. */
export async function mergeParts(clickhouse: ClickHouse): Promise<void> {
  await clickhouse.command(`SYSTEM START MERGES ${clickhouse.table('responses')}`);
  await clickhouse.command(`OPTIMIZE TABLE ${clickhouse.table('responses')} FINAL`, { timeoutMs: fillTimeoutMs });
}

/**
 * The columns of the measured survey alone in a plain table, the weight in `w`: what no store of these answers can
 * beat.
 */
export async function fillPlain(clickhouse: ClickHouse): Promise<string> {
  const table = clickhouse.table('plain');
  await clickhouse.command(
    `CREATE TABLE ${table} (${benchQuestions.map(({ slot }) => `c${slot} UInt16`).join(', ')}, w Float64) ENGINE = MergeTree ORDER BY tuple()`,
  );
  await clickhouse.command(
    `INSERT INTO ${table} SELECT ${codes}, if(c${benchWeight.presence} = 0, 0, numbers[${benchWeight.slot + 1}]) FROM ${clickhouse.table('responses')} WHERE survey_id = '${benchSurveyId}' AND is_deleted = 0`,
    { timeoutMs: fillTimeoutMs },
  );
  await clickhouse.command(`OPTIMIZE TABLE ${table} FINAL`, { timeoutMs: fillTimeoutMs });
  return table;
}

/**
 * The layout that many choose: a row a response, its answers as arrays of question numbers and of codes; versions
 * merged while reading.
 */
export async function fillArrays(clickhouse: ClickHouse): Promise<string> {
  const table = clickhouse.table('arrays');
  await clickhouse.command(
    `CREATE TABLE ${table} (survey_id UUID, response_id UUID, submitted_at DateTime64(3, 'UTC'), version UInt32, is_deleted UInt8, is_complete UInt8, questions Array(UInt16), codes Array(UInt16))
     ENGINE = ReplacingMergeTree(version, is_deleted) PARTITION BY toYYYYMM(submitted_at) ORDER BY (survey_id, submitted_at, response_id)`,
  );
  const questions = `[${benchQuestions.map(({ slot }) => slot).join(', ')}]`;
  await clickhouse.command(
    `INSERT INTO ${table} SELECT survey_id, response_id, submitted_at, version, is_deleted, is_complete, ${questions}, [${codes}] FROM ${clickhouse.table('responses')}`,
    { timeoutMs: fillTimeoutMs },
  );
  await clickhouse.command(`OPTIMIZE TABLE ${table} FINAL`, { timeoutMs: fillTimeoutMs });
  return table;
}
