import { type AskedSurvey, createStatusReader } from '../../domain/analytics/asked.ts';
import type { ResponseFieldName } from '../../domain/export-formats.ts';
import type { GivenAnswer } from '../../domain/questions/contract.ts';
import { compileSurvey, readAnswers } from '../../domain/submission/answers.ts';
import type { Question } from '../../domain/survey.ts';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import { type Layout, responseFields } from './columns.ts';
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

/** How JSON writes the fields that it does not write as a cell of a table holds them. */
const inJson: Partial<Record<ResponseFieldName, (record: ResponseRecord) => unknown>> = {
  submittedAt: (record) => record.submittedAt.toISOString(),
  completedAt: (record) => record.completedAt?.toISOString() ?? null,
  language: (record) => record.language,
};

/**
 * Presents a response with the answers of the file's questions, as in the API; options and rows also have their label.
 */
function presenter({ survey, layout }: FileContent): (record: ResponseRecord) => unknown {
  const compiled = compileSurvey({ ...survey, questions: layout.questions });
  const labels = labelsOf(layout);
  const statuses = layout.asked && statusPresenter(layout.asked, layout.questions);
  const readers = layout.responseFields
    .filter((name) => name !== 'metadata')
    .map((name) => [name, inJson[name] ?? responseFields[name].read] as const);
  const withMetadata = layout.responseFields.includes('metadata');
  return (record) => ({
    ...Object.fromEntries(readers.map(([name, read]) => [name, read(record, layout.collectors)])),
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
