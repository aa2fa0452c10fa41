import type { ReportDocument } from '../../ai/tasks/report.ts';
import { runAtOnce } from '../../platform/slices.ts';
import { drawLeftOut, numberPages, quiet } from '../exports/pdf/pdf.ts';
import { drawQuestion } from '../exports/pdf/question.ts';
import { openSheet, page, type Sheet } from '../exports/pdf/sheet.ts';
import { wordsOf } from '../exports/pdf/words.ts';
import { notAnalysed } from '../exports/summary.ts';
import { tableOf } from '../exports/tables.ts';

/**
 * A report as PDF: sections, each with the charts and tables of the questions that it mentions, then recommendations.
 */
export async function renderReportPdf(document: ReportDocument): Promise<Uint8Array> {
  const { survey, report, createdAt } = document;
  const sheet = openSheet({ title: report.title, language: survey.language, createdAt });
  const pieces: Uint8Array[] = [];
  const done = new Promise<void>((resolve, reject) =>
    sheet.doc
      .on('data', (piece: Uint8Array) => void pieces.push(piece))
      .on('end', resolve)
      .on('error', reject),
  );
  drawHead(sheet, document);
  drawSections(sheet, document);
  if (report.recommendations) drawRecommendations(sheet, report.recommendations, survey.language);
  numberPages(sheet, report.title);
  sheet.doc.end();
  await done;
  return Uint8Array.from(Buffer.concat(pieces));
}

function drawHead(sheet: Sheet, { survey, report, head, outcomes, createdAt }: ReportDocument): void {
  const words = wordsOf(survey.language);
  sheet.shapes((doc) => doc.rect(0, 0, page.width, 14).fill('#0072b2'));
  sheet.write(report.title, { size: 22, weight: 'bold' });
  if (survey.title !== report.title) sheet.write(survey.title, { size: 11, color: '#52606d' });
  sheet.gap(4);
  sheet.flow(
    [
      { text: `${words.responses}: ${head.totalResponses}` },
      { text: `${words.complete}: ${head.completeResponses}` },
      { text: `${words.completionRate}: ${head.completionRate.toFixed(1)} %` },
      { text: `${words.made} ${createdAt.toISOString().slice(0, 10)}` },
    ],
    quiet,
  );
  if (outcomes) drawLeftOut(sheet, notAnalysed(outcomes), words);
  sheet.gap(12);
}

/** Figures have the order, and so the numbers, that the questions had when the report was generated. */
function drawSections(sheet: Sheet, { survey, report, figures }: ReportDocument): void {
  const words = wordsOf(survey.language);
  const shown = new Set<string>();
  for (const { heading, text, questionIds } of report.sections) {
    drawText(sheet, heading, text);
    for (const [index, statistic] of figures.entries()) {
      // Questions that were deleted since are hidden ones of the survey.
      const question = survey.questions.find(({ id }) => id === statistic.questionId);
      // Each question's chart once, where it is mentioned first.
      if (!question || !questionIds.includes(question.id) || shown.has(question.id)) continue;
      shown.add(question.id);
      const table = tableOf({ question, statistic: { ...statistic, type: question.type } }, words);
      runAtOnce(drawQuestion(sheet, table, { number: index + 1, words }));
    }
  }
}

function drawText(sheet: Sheet, heading: string, text: string): void {
  sheet.ensure(70);
  sheet.write(heading, { size: 14, weight: 'bold' });
  sheet.gap(3);
  sheet.write(text, { size: 10.5 });
  sheet.gap(14);
}

function drawRecommendations(sheet: Sheet, recommendations: readonly string[], language: string): void {
  sheet.ensure(70);
  sheet.write(wordsOf(language).recommendations, { size: 14, weight: 'bold' });
  sheet.gap(3);
  for (const [index, text] of recommendations.entries()) {
    sheet.write(`${index + 1}. ${text}`, { size: 10.5 });
    sheet.gap(4);
  }
}
