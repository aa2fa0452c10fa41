import assert from 'node:assert/strict';
import { it } from 'node:test';
import { layoutOf } from '../../../../../src/pipelines/exports/columns.ts';
import { writeSpss } from '../../../../../src/pipelines/exports/spss/spss.ts';
import type { FileContent } from '../../../../../src/pipelines/exports/writer.ts';
import { blankSurvey, withQuestion } from '../../../../support/questions.ts';
import { assertWithin } from '../../../../support/time-bars.ts';

it('an SPSS file with one long answer is made as fast as one with short answers', async () => {
  const { survey, question } = withQuestion(blankSurvey(), { type: 'LONG_TEXT', text: 'Why?' });
  const record = (text: string) => ({ outcome: 'COMPLETED', row: { codes: [1], numbers: [], texts: [text] } });
  const records = [record('x'.repeat(30_000)), ...Array.from({ length: 6000 }, () => record('short'))];
  const batches = async function* () {
    yield records;
  };
  const content = {
    survey: { title: 'SPSS' },
    layout: layoutOf({ isAnonymous: false, questions: survey.questions }, { labels: 'text', columns: [question.id] }),
    createdAt: new Date('2026-01-02T03:04:05Z'),
    batches: batches(),
    scan: batches,
  };
  let bytes = 0;
  const begun = performance.now();
  await writeSpss(content as unknown as FileContent, {
    write: async (piece) => {
      bytes += piece.length;
    },
  });
  assertWithin(1500, performance.now() - begun);
  // Each short answer takes a byte for every eight of the long one, and its own eight.
  assert.ok(bytes > 6000 * 3750, String(bytes));
});
