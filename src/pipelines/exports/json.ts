import { type AskedSurvey, createStatusReader } from '../../domain/analytics/asked.ts';
import { type CollectorIndex, collectorIdOf } from '../../domain/collectors/survey-collectors.ts';
import type { ResponseFieldName } from '../../domain/export-formats.ts';
import { isCompleteOutcome } from '../../domain/outcome.ts';
import type { GivenAnswer } from '../../domain/questions/contract.ts';
import { compileSurvey, readAnswers } from '../../domain/submission/answers.ts';
import type { Question } from '../../domain/survey.ts';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import type { Layout } from './columns.ts';
import { textPieces } from './text-pieces.ts';
import type { FileContent, Writer } from './writer.ts';

/** An array of responses in the shape of the API, one per line. */
export const writeJson: Writer = async (content, sink) => {
  const present = presenter(content);
  let separator = '[\n';
  const next = (record: ResponseRecord) => {
    const text = separator + JSON.stringify(present(record));
    separator = ',\n';
    return text;
  };
  for await (const batch of content.batches)
    for (const piece of textPieces(batch, next)) await sink.write(Buffer.from(piece));
  await sink.write(Buffer.from(separator === '[\n' ? '[]\n' : '\n]\n'));
};

/** The same objects without the array, one per line. */
export const writeNdjson: Writer = async (content, sink) => {
  const present = presenter(content);
  for await (const batch of content.batches)
    for (const piece of textPieces(batch, (record) => `${JSON.stringify(present(record))}\n`))
      await sink.write(Buffer.from(piece));
};

const fields = {
  id: (record) => record.responseId,
  surveyId: (record) => record.surveyId,
  surveyVersion: (record) => record.surveyVersion,
  submittedAt: (record) => record.submittedAt.toISOString(),
  completedAt: (record) => record.completedAt?.toISOString() ?? null,
  isComplete: (record) => isCompleteOutcome(record.outcome),
  durationSeconds: (record) => (record.durationMs === null ? null : record.durationMs / 1000),
  language: (record) => record.language,
  respondent: (record) => (record.respondent === '' ? null : record.respondent),
  outcome: (record) => record.outcome,
  collectorId: ({ row }, collectors) => collectorIdOf(collectors, row.codes) ?? null,
  metadata: (record) => record.metadata,
} as const satisfies Record<ResponseFieldName, (record: ResponseRecord, collectors: CollectorIndex) => unknown>;

/**
 * Presents a response with the answers of the file's questions, as in the API; options and rows also have their label.
 */
function presenter({ survey, layout }: FileContent): (record: ResponseRecord) => unknown {
  const compiled = compileSurvey({ ...survey, questions: layout.questions });
  const labels = labelsOf(layout);
  const statuses = layout.asked && statusPresenter(layout.asked, layout.questions);
  const before = layout.responseFields.filter((name) => name !== 'metadata');
  const withMetadata = layout.responseFields.includes('metadata');
  return (record) => ({
    ...Object.fromEntries(before.map((name) => [name, fields[name](record, layout.collectors)])),
    answers: readAnswers(compiled, record.row).map((answer) => labelled(answer, labels)),
    ...(statuses && { statuses: statuses(record) }),
    ...(withMetadata && { metadata: record.metadata }),
  });
}

/** The status of each question of the file, and of each row of a MATRIX. */
function statusPresenter(asked: AskedSurvey, questions: readonly Question[]) {
  const read = createStatusReader(asked);
  return (record: ResponseRecord) => {
    const statuses = read(record);
    return questions.map(({ id, rows }) => ({
      questionId: id,
      status: statuses.of(id),
      ...(rows.length > 0 && { rows: rows.map(({ id: rowId }) => ({ rowId, status: statuses.ofRow(id, rowId) })) }),
    }));
  };
}

function labelled(answer: GivenAnswer, labels: ReadonlyMap<string, string>): object {
  const option = answer.optionId === undefined ? undefined : labels.get(answer.optionId);
  const row = answer.rowId === undefined ? undefined : labels.get(answer.rowId);
  return { ...answer, ...(option !== undefined && { option }), ...(row !== undefined && { row }) };
}

function labelsOf({ questions, labels }: Layout): Map<string, string> {
  return new Map(
    questions.flatMap(({ options, rows }) => [...options, ...rows].map((item) => [item.id, item[labels]] as const)),
  );
}
