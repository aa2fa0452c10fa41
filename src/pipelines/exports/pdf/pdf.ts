import { outcomes } from '../../../domain/outcome.ts';
import { runInPieces } from '../../../platform/slices.ts';
import { selectionTexts } from '../selection.ts';
import { leftOutOf, type Summary } from '../summary.ts';
import { tableOf } from '../tables.ts';
import type { FileContent, Writer } from '../writer.ts';
import { drawColumns, drawThemes } from './charts.ts';
import { drawQuestion } from './question.ts';
import { responsesOverTime } from './responses-over-time.ts';
import { contentWidth, openSheet, page, type Sheet } from './sheet.ts';
import { outcomeWords, type Words, wordsOf } from './words.ts';

/**
 * A report: a title page with the totals of the survey, then every question with a chart and a table. Drawn by a PDF
 * library without a browser or network; answers of respondents are only drawn as text.
 */
export const writePdf: Writer = async (
  { survey, layout, createdAt, selection, summarise, themes: findThemes, pause },
  sink,
) => {
  const [summary, themes] = await Promise.all([summarise(), findThemes()]);
  const { title, language } = survey;
  const sheet = openSheet({ title, language, createdAt });
  const words = wordsOf(language);
  drawTitle(sheet, { survey, summary, createdAt, selection, words });
  if (summary.questions.length > 0) sheet.nextPage();
  for (const [index, question] of summary.questions.entries()) {
    const number = layout.numbers.get(question.question.id) ?? 0;
    const drawing = drawQuestion(sheet, tableOf(question, words), { number, words });
    await runInPieces(drawing, () => pause(index / summary.questions.length));
  }
  if (themes && themes.found.length > 0) {
    sheet.ensure(170);
    sheet.write(words.themes, { size: 12.5, weight: 'bold' });
    sheet.write(`${words.analysed}: ${themes.analysedResponses}`, quiet);
    sheet.gap(6);
    drawThemes(sheet, themes, words);
  }
  numberPages(sheet, title);
  sheet.doc.end();
  for await (const piece of sheet.doc) await sink.write(piece);
};

interface Title extends Pick<FileContent, 'survey' | 'createdAt' | 'selection'> {
  summary: Summary;
  words: Words;
}

function drawTitle(sheet: Sheet, { survey, summary, createdAt, selection, words }: Title): void {
  sheet.doc.rect(0, 0, page.width, 14).fill('#0072b2');
  sheet.y = 110;
  sheet.write(survey.title, { size: 26, weight: 'bold' });
  sheet.gap(8);
  if (survey.description) sheet.write(survey.description, { size: 11, color: '#52606d' });
  sheet.gap(4);
  const small = { size: 9, color: '#7b8794' };
  sheet.flow([{ text: words.made }, { text: `${createdAt.toISOString().slice(0, 16).replace('T', ' ')} UTC` }], small);
  if (selection) {
    const texts = selectionTexts(selection, {
      questions: words.questions,
      ofOutcome: (outcome) => words[outcomeWords[outcome]],
    });
    // Days are text of their own, because in a line with Arabic or Hebrew words their order would be turned round.
    const days = selection.startDate || selection.endDate ? texts.splice(0, 1) : [];
    sheet.flow(
      [words.selection, ...days].map((text) => ({ text })),
      small,
    );
    if (texts.length > 0) sheet.write(texts.join(' · '), small);
  }
  sheet.gap(30);
  drawKeyNumbers(sheet, [
    [words.responses, String(summary.totalResponses)],
    [words.complete, String(summary.completeResponses)],
    [words.completionRate, `${summary.completionRate.toFixed(1)} %`],
    [words.duration, durationText(summary.meanDuration)],
    [words.medianDuration, durationText(summary.medianDuration)],
  ]);
  drawOutcomes(sheet, summary, words);
  if (summary.byDay.length === 0) return;
  const { heading, columns } = responsesOverTime(summary.byDay, words);
  sheet.gap(30);
  sheet.write(heading, { size: 11, weight: 'bold' });
  sheet.gap(4);
  drawColumns(sheet, columns);
}

function drawKeyNumbers(sheet: Sheet, figures: readonly (readonly [string, string])[]): void {
  sheet.ensure(70);
  const width = contentWidth / figures.length;
  for (const [index, [name, value]] of figures.entries()) {
    const x = page.left + index * width;
    sheet.shapes((doc) => doc.roundedRect(x + 3, sheet.y, width - 6, 66, 4).fill('#eef1f4'));
    sheet.draw(sheet.set(value, width - 18, { size: 17, weight: 'bold' }, 1), x + 9, sheet.y + 8, {
      width: width - 18,
      align: 'center',
    });
    sheet.draw(sheet.set(name, width - 18, { size: 8.5, color: '#52606d' }, 2), x + 9, sheet.y + 36, {
      width: width - 18,
      align: 'center',
    });
  }
  sheet.gap(66);
}

/** The look of notes below a heading. */
export const quiet = { size: 9, color: '#52606d' } as const;

/** Responses by outcome, and which of them the figures of questions leave out; nothing if all are complete. */
function drawOutcomes(sheet: Sheet, summary: Summary, words: Words): void {
  if (summary.outcomes.COMPLETED === summary.totalResponses) return;
  sheet.gap(12);
  sheet.flow(
    outcomes
      .filter((outcome) => summary.outcomes[outcome] > 0)
      .map((outcome) => ({ text: `${words[outcomeWords[outcome]]}: ${summary.outcomes[outcome]}` })),
    quiet,
  );
  drawLeftOut(sheet, leftOutOf(summary), words);
}

/** Which responses the figures of questions leave out; nothing if there are none. */
export function drawLeftOut(sheet: Sheet, leftOut: ReturnType<typeof leftOutOf>, words: Words): void {
  const named = leftOut.map(({ outcome, count }) => `${words[outcomeWords[outcome]]} (${count})`);
  if (named.length > 0) sheet.write(`${words.leftOut}: ${named.join(', ')}`, quiet);
}

function durationText(seconds: number | null): string {
  if (seconds === null) return '–';
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return parts.join(':');
}

/** Draws the title and the page number at the bottom of every page. */
export function numberPages(sheet: Sheet, title: string): void {
  const { start, count } = sheet.doc.bufferedPageRange();
  for (let index = start; index < start + count; index += 1) {
    sheet.doc.switchToPage(index);
    const name = sheet.set(title, contentWidth - 80, { size: 8, color: '#7b8794' }, 1);
    sheet.draw(name, page.left, 806, { width: contentWidth - 80 });
    sheet.draw(sheet.set(`${index + 1} / ${count}`, 70, { size: 8, color: '#7b8794' }, 1), page.right - 70, 806, {
      width: 70,
      align: 'right',
    });
  }
}
