import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { layoutOf } from '../../../../../src/pipelines/exports/columns.ts';
import { writeSpss } from '../../../../../src/pipelines/exports/spss/spss.ts';
import type { FileContent } from '../../../../../src/pipelines/exports/writer.ts';
import { blankSurvey } from '../../../../support/questions.ts';

/** A file of two responses, of which one has this metadata. */
async function fileOf(metadata: Record<string, string>, columns?: readonly string[]): Promise<Buffer> {
  const survey = blankSurvey();
  const head = { responseId: 'r', submittedAt: new Date(0), surveyVersion: 1, outcome: 'COMPLETED', language: '' };
  const record = (own: Record<string, string>) => ({
    ...head,
    metadata: own,
    row: { codes: [], numbers: [], texts: [] },
  });
  const batches = async function* () {
    yield [record({ region: 'North' }), record(metadata)];
  };
  const pieces: Uint8Array[] = [];
  const content = {
    survey,
    layout: layoutOf(survey, { labels: 'text', columns, metadataKeys: ['region'] }),
    createdAt: new Date('2026-01-02T03:04:05Z'),
    batches: batches(),
    scan: batches,
  };
  await writeSpss(content as unknown as FileContent, {
    write: async (bytes) => void pieces.push(Uint8Array.from(bytes)),
  });
  return Buffer.concat(pieces);
}

/** Metadata whose JSON takes this many bytes. */
const metadataOf = (bytes: number) => {
  const pairs = Array.from({ length: 33 }, (_, index) => [`key ${index}`, 'x'.repeat(950)]);
  const metadata = { region: 'South', ...Object.fromEntries(pairs) };
  return { ...metadata, rest: 'y'.repeat(bytes - Buffer.byteLength(JSON.stringify({ ...metadata, rest: '' }))) };
};

describe('the metadata of an SPSS file', () => {
  it('is a whole JSON text as long as SPSS can hold it', async () => {
    const file = await fileOf(metadataOf(32_767));
    assert.ok(file.includes('=metadata'));
    assert.ok(file.includes('yyy"}'));
    assert.ok(file.includes('=M_region'));
  });

  it('is left out beside its keys where a response has more than SPSS can hold', async () => {
    const file = await fileOf(metadataOf(32_768));
    assert.ok(!file.includes('=metadata'));
    assert.ok(!file.includes('"key 1"'));
    assert.ok(file.includes('=M_region'));
  });

  it('is refused where it is all that was asked for, and does not fit', async () => {
    await assert.rejects(fileOf(metadataOf(32_768), ['metadata']), /32767 bytes.*ask for its keys/);
  });
});
