import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registry } from '../../src/domain/questions/registry.ts';
import type { Question } from '../../src/domain/survey.ts';
import { layoutOf } from '../../src/pipelines/exports/columns.ts';
import { writeSpss } from '../../src/pipelines/exports/spss/spss.ts';
import { variablesOf } from '../../src/pipelines/exports/spss/variables.ts';
import type { FileContent } from '../../src/pipelines/exports/writer.ts';
import type { ResponseRecord } from '../../src/stores/clickhouse/responses.ts';
import { blankSurvey, withQuestion } from './questions.ts';

export type Body = Parameters<typeof withQuestion>[1];
type Given = Record<string, unknown>;

export function surveyOf(...bodies: Body[]) {
  let survey = blankSurvey();
  for (const body of bodies) survey = withQuestion(survey, body).survey;
  return survey;
}

let ids = 0;
/** A response with answers by question. */
export function record(
  questions: readonly Question[],
  answers: readonly (readonly Given[])[],
  metadata: Record<string, string> = {},
): ResponseRecord {
  const row = { codes: Array.from({ length: 40 }, () => 0), numbers: [], texts: [] };
  for (const [place, given] of answers.entries()) {
    const question = questions[place];
    if (!question || given.length === 0) continue;
    registry[question.type].read(
      question,
      given.map((answer, index) => ({ index, answer: { questionId: question.id, ...answer } })),
      row,
      { uploads: new Map(), report: (_, field, message) => assert.fail(`${field} ${message}`) },
    );
  }
  ids += 1;
  return {
    surveyId: 's',
    responseId: `r${ids}`,
    submittedAt: new Date(1_767_225_600_123),
    version: 1,
    surveyVersion: 1,
    outcome: 'COMPLETED',
    completedAt: null,
    durationMs: null,
    language: 'en',
    respondent: '',
    metadata,
    row,
  };
}

interface Asked {
  missing?: 'labelled';
  labels?: 'text' | 'value';
  columns?: string[];
  metadataKeys?: string[];
}

export const variables = (questions: readonly Question[], { labels = 'text', ...asked }: Asked = {}) =>
  variablesOf(layoutOf({ isAnonymous: false, questions }, { labels, ...asked }));

/** The bytes of the file. */
export async function spssFile(
  questions: readonly Question[],
  records: readonly ResponseRecord[],
  asked: Asked = {},
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const batches = async function* () {
    yield records;
  };
  const { labels = 'text', ...options } = asked;
  const content = {
    survey: { title: 'SPSS' },
    layout: layoutOf({ isAnonymous: false, questions }, { labels, ...options }),
    createdAt: new Date('2026-01-02T03:04:05Z'),
    batches: batches(),
    scan: batches,
  };
  await writeSpss(content as unknown as FileContent, {
    write: async (bytes) => void pieces.push(Uint8Array.from(bytes)),
  });
  return Buffer.concat(pieces);
}

/** What PSPP prints of the file. */
export async function pspp(
  questions: readonly Question[],
  records: readonly ResponseRecord[],
  script: string,
  asked: Asked = {},
) {
  const bytes = await spssFile(questions, records, asked);
  const folder = mkdtempSync(join(tmpdir(), 'spss-'));
  try {
    const path = join(folder, 'file.sav');
    writeFileSync(path, bytes);
    const run = spawnSync('pspp', ['-O', 'format=txt'], {
      input: `GET FILE='${path}'.\n${script}\n`,
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    assert.equal(run.status, 0, run.stdout + run.stderr);
    assert.doesNotMatch(run.stdout + run.stderr, /warning|error/i);
    return run.stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Why tests that read files with PSPP are skipped; false if they run. */
export const skip = spawnSync('pspp', ['--version']).error ? 'pspp is not installed' : false;
