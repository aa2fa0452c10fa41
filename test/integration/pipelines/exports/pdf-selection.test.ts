import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { writePdf } from '../../../../src/pipelines/exports/pdf/pdf.ts';
import type { FileSelection } from '../../../../src/pipelines/exports/selection.ts';
import type { FileContent } from '../../../../src/pipelines/exports/writer.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const skip = spawnSync('pdftotext', ['-v']).error ? 'pdftotext is not installed' : false;

const first = withQuestion({ ...blankSurvey(), title: 'Guests' }, { type: 'YES_NO', text: 'Breakfast?' });
const second = withQuestion(first.survey, { type: 'YES_NO', text: 'Again?' });
const { survey } = second;

/** The text of a PDF of these questions, of which 61 responses answered each. */
async function textOf(
  columns: readonly string[] | undefined,
  { language = 'en', selection }: { language?: string; selection?: FileSelection } = {},
): Promise<string> {
  const layout = layoutOf(survey, { labels: 'text', columns });
  const counts = [{ kind: 'codes', counts: new Map([[1, 61]]) }] as const;
  const pieces: Uint8Array[] = [];
  const content: Pick<FileContent, 'survey' | 'layout' | 'createdAt' | 'selection' | 'themes' | 'summarise' | 'pause'> =
    {
      survey: { ...survey, language },
      selection,
      layout,
      createdAt: new Date('2026-03-01T10:00:00Z'),
      themes: async () => undefined,
      pause: async () => undefined,
      summarise: async () => ({
        surveyId: survey.id,
        totalResponses: 61,
        countedResponses: 61,
        completeResponses: 61,
        completionRate: 100,
        outcomes: { PARTIAL: 0, COMPLETED: 61, SCREENED_OUT: 0, OVER_QUOTA: 0 },
        averageDuration: 60,
        meanDuration: 60,
        medianDuration: 60,
        byDay: [],
        questions: layout.questions.map((question) => ({
          question,
          statistic: interpretQuestion(question, counts, { base: 61, partBases: [] }, 61),
        })),
      }),
    };
  await writePdf(content as FileContent, { write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) });
  const read = spawnSync('pdftotext', ['-', '-'], { input: Buffer.concat(pieces), encoding: 'utf8' });
  assert.equal(read.status, 0, read.stderr);
  return read.stdout;
}

describe('a PDF of a selection', { skip }, () => {
  it('numbers questions by their order in the survey, whatever columns are asked for', async () => {
    assert.match(await textOf(undefined), /1\. Breakfast\?[^]*2\. Again\?/);
    assert.match(await textOf([second.question.id]), /^\f?2\. Again\?$/m);
    assert.match(await textOf([second.question.id, first.question.id]), /2\. Again\?[^]*1\. Breakfast\?/);
  });

  it('says so on its first page, in the language of the survey', async () => {
    const selection: FileSelection = {
      startDate: new Date('2026-01-01T00:00:00Z'),
      endDate: new Date('2026-03-05T00:00:00Z'),
      outcomes: ['COMPLETED', 'SCREENED_OUT'],
      filters: ['1. Breakfast?: Yes'],
      questions: { chosen: 1, all: 2 },
    };
    const columns = [second.question.id];
    const firstPage = async (language: string) =>
      (await textOf(columns, { language, selection })).split('\f')[0]?.replaceAll(/\s+/g, ' ') ?? '';
    const times = '2026-01-01 00:00 – 2026-03-04 23:59 UTC';
    const expected = {
      en: ['Selection', times, 'Complete, Screened out · 1. Breakfast?: Yes · Questions: 1 / 2'],
      de: ['Auswahl', times, 'Vollständig, Ausgescreent · 1. Breakfast?: Yes · Fragen: 1 / 2'],
      ar: [times],
    };
    for (const [language, parts] of Object.entries(expected)) {
      const shown = await firstPage(language);
      for (const part of parts) assert.ok(shown.includes(part), shown);
    }
    assert.ok(!(await textOf(undefined)).includes('Selection'));
  });
});
