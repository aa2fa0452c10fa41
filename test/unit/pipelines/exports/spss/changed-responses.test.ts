import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { layoutOf } from '../../../../../src/pipelines/exports/columns.ts';
import { writeSpss } from '../../../../../src/pipelines/exports/spss/spss.ts';
import type { FileContent } from '../../../../../src/pipelines/exports/writer.ts';
import { blankSurvey, withQuestion } from '../../../../support/questions.ts';

interface Given {
  text?: string;
  number?: number;
  weight?: string;
}

describe('an SPSS file whose responses are read twice', () => {
  const open = withQuestion(blankSurvey(), { type: 'LONG_TEXT', text: 'Why?' }).survey;
  const { survey } = withQuestion(open, { type: 'NUMBER', text: 'How many?' });
  const record = ({ text = 'ab', number = 5, weight = '1.5' }: Given) => ({
    outcome: 'PARTIAL',
    metadata: { weight },
    row: { codes: [1, 1], numbers: [number], texts: [text] },
  });

  /** Writes a file of a response that is `first` when it is measured, and `then` when it is written. */
  async function write(first: Given, then: Given): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    const batches = async function* (given: Given) {
      yield [record(given)];
    };
    const content = {
      survey,
      layout: layoutOf(survey, {
        labels: 'text',
        columns: [...survey.questions.map(({ id }) => id), 'metadata.weight'],
        missing: 'labelled',
      }),
      createdAt: new Date('2026-01-02T03:04:05Z'),
      batches: batches(then),
      scan: () => batches(first),
    };
    await writeSpss(content as unknown as FileContent, {
      write: async (bytes) => void pieces.push(Uint8Array.from(bytes)),
    });
    return Buffer.concat(pieces);
  }

  it('is begun again if one was continued with a value that does not fit', async () => {
    const changed = /a response changed while the file was made/;
    await assert.rejects(write({}, { text: 'abcd' }), changed, 'a text that would be cut');
    await assert.rejects(write({}, { weight: 'heavy' }), changed, 'a text where all were numbers');
    await assert.rejects(write({}, { number: -98 }), changed, 'a number that says that the question was not asked');
    await assert.rejects(write({}, { text: '-98' }), changed, 'a text that says so');
  });

  it('holds what it was continued with if that fits', async () => {
    const bytes = await write({ text: 'abcd' }, { text: 'wxyz', number: -97, weight: '2.25' });
    assert.ok(bytes.includes('wxyz'));
  });
});
