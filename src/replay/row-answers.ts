import type { GivenAnswer } from '../domain/questions/contract.ts';
import { cutText } from '../platform/cut-text.ts';
import type { Detection } from './detect.ts';
import { cellAt, type Row } from './table.ts';
import type { ImportedQuestion } from './types/adapter.ts';
import { typeAdapters } from './types/adapters.ts';

/** The answers of a row, without empty cells and those that the service would refuse. */
export function answersOf(questions: readonly ImportedQuestion[], row: Row): GivenAnswer[] {
  return questions
    .filter(
      ({ found }) =>
        typeAdapters[found.type].isFilled(found, row) && typeAdapters[found.type].problem(found, row) === undefined,
    )
    .flatMap((question) =>
      typeAdapters[question.found.type]
        .answers(question, row)
        .map((answer) => ({ questionId: question.id, ...answer })),
    );
}

/** The metadata of a row: its id, and the time of the answer as the file writes it. */
export function metadataOf(
  { idColumn, timeColumn }: Pick<Detection, 'idColumn' | 'timeColumn'>,
  row: Row,
): { metadata?: Record<string, string> } {
  const id = idColumn ? { [cutText(idColumn.question, 100)]: cutText(cellAt(row, idColumn.index), 1000) } : {};
  const time = timeColumn ? cutText(cellAt(row, timeColumn.index), 1000) : '';
  const metadata = { ...id, ...(time !== '' && { answeredAt: time }) };
  return Object.keys(metadata).length > 0 ? { metadata } : {};
}
