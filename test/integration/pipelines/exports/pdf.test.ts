import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import type { CountResult } from '../../../../src/domain/questions/contract.ts';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { writePdf } from '../../../../src/pipelines/exports/pdf/pdf.ts';
import { wordsOf } from '../../../../src/pipelines/exports/pdf/words.ts';
import type { FileContent, FileThemes } from '../../../../src/pipelines/exports/writer.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

/** A title, a question and an option in each of the service's languages, with its rarer letters. */
const samples: Readonly<Record<string, [string, string, string]>> = {
  en: ['Guest survey', 'How was your stay?', 'Excellent'],
  es: ['Encuesta de huéspedes', '¿Cómo fue su estancia, señor?', 'Pingüino'],
  fr: ['Enquête', 'Où êtes-vous allé, cœur naïf ?', 'Très bien'],
  de: ['Gästebefragung', 'Wie groß war Ihr Ärger?', 'Außerordentlich'],
  it: ['Sondaggio', 'Com’è andata? Perché?', 'Così così'],
  pt: ['Inquérito', 'Como foi a sua estadia, então?', 'Ótima opção'],
  nl: ['Enquête', 'Hoe was uw verblijf, reünie?', 'Uitstekend ĳs'],
  pl: ['Ankieta gości', 'Zażółć gęślą jaźń?', 'Świetnie'],
  ru: ['Опрос гостей', 'Съешь ещё этих мягких французских булок?', 'Отлично'],
  'zh-Hans': ['宾客满意度调查', '您如何评价您的住宿体验？', '非常满意'],
  'zh-Hant': ['賓客滿意度調查', '您如何評價您的住宿體驗？', '非常滿意龜鬱'],
  ja: ['宿泊者満足度調査', 'ご滞在はいかがでしたか？', '非常に満足ヴェ'],
  ko: ['투숙객 만족도 조사', '숙박은 어떠셨습니까?', '매우 만족 뷁'],
  ar: ['استطلاع رضا الضيوف', 'كيف تقيّم إقامتك لدينا؟', 'ممتاز جدًا'],
  he: ['סקר שביעות רצון', 'כיצד תדרגו את שהייתכם?', 'מצוין מאוד'],
};
/** Of 61 responses, four were there when they were analysed. */
const themes: FileThemes = {
  found: [
    { name: 'Breakfast', count: 2, sentiment: 'positive' },
    { name: 'Noise', count: 1, sentiment: 'negative' },
  ],
  analysedResponses: 4,
};

/** The font draws these in pairs with one body. */
const dotted = [
  'بنت',
  'نبت',
  'ثبت',
  'تين',
  'عربي',
  'عرني',
  'زير',
  'رير',
  'جبل',
  'حبل',
  'خبل',
  'شمس',
  'سمس',
  'ضرب',
  'صرب',
  'ظهر',
  'طهر',
  'غير',
  'عير',
  'فرس',
  'قرس',
  'مئوية',
  'مؤمن',
  'أين',
  'إلى',
  'آمن',
];

/** In Arabic and in Persian digits, alone and among letters. */
const numbers = ['١٢٣', '۴۵۶', 'عام ١٩٨٧', 'سال ۱۳۶۵'];

async function report(
  language: string,
  meanDuration: number | null = 61,
  medianDuration: number | null = null,
): Promise<Buffer> {
  const [title, text, option] = samples[language] ?? ['', '', ''];
  const { survey, question } = withQuestion(
    { ...blankSurvey(), title, language },
    {
      type: 'CHECKBOXES',
      text,
      options: [
        { text: option },
        { text: 'B' },
        ...(language === 'ar' ? [...dotted, ...numbers].map((text) => ({ text })) : []),
      ],
      settings: {},
    },
  );
  const { survey: whole, question: open } = withQuestion(survey, { type: 'SHORT_TEXT', text: option });
  const words: CountResult = { kind: 'text', counts: [{ key: 'one', count: 3 }], others: { keys: 2, count: 2 } };
  const pieces: Uint8Array[] = [];
  const content: Pick<FileContent, 'survey' | 'layout' | 'createdAt' | 'themes' | 'summarise' | 'pause'> = {
    survey: whole,
    layout: layoutOf(whole, { labels: 'text' }),
    createdAt: new Date('2026-03-01T10:00:00Z'),
    themes: async () => themes,
    pause: async () => undefined,
    summarise: async () => ({
      surveyId: survey.id,
      totalResponses: 61,
      countedResponses: 6,
      completeResponses: 4,
      completionRate: 6.6,
      outcomes: { PARTIAL: 2, COMPLETED: 4, SCREENED_OUT: 17, OVER_QUOTA: 38 },
      averageDuration: meanDuration ?? 0,
      meanDuration,
      medianDuration,
      byDay: [{ date: '2026-03-01', count: 4 }],
      questions: [
        {
          question,
          statistic: interpretQuestion(
            question,
            [{ kind: 'bits', counts: [3, 1] }],
            { base: 4, partBases: [], notAsked: 2 },
            6,
          ),
        },
        { question: open, statistic: interpretQuestion(open, [words], { base: 4, partBases: [] }, 4) },
      ],
    }),
  };
  await writePdf(content as FileContent, { write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) });
  return Buffer.concat(pieces);
}

const skip = spawnSync('pdftotext', ['-v']).error ? 'pdftotext is not installed' : false;
const lettersOf = (text: string): string[] => [...new Set(text.normalize('NFKC').replace(/[\s\p{Cf}\p{M}]/gu, ''))];
/** Without vowel signs, which a reader of the file may find beside their word. */
const wordsIn = (text: string): string[] =>
  text
    .normalize('NFKC')
    .replace(/\p{M}/gu, '')
    .split(/[\s\p{Cf}\p{P}\p{N}]+/u)
    .filter((word) => /^\p{Script=Arabic}{3,}$/u.test(word));

describe('PDF report', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'survey-pdf-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const read = (bytes: Uint8Array, ...options: string[]): string => {
    const path = join(folder, 'report.pdf');
    writeFileSync(path, bytes);
    const run = spawnSync('pdftotext', [...options, path, '-'], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    return run.stdout;
  };

  for (const language of Object.keys(samples))
    it(`has every letter of ${language}`, async () => {
      const words = wordsOf(language);
      if (language !== 'en') assert.notEqual(words.responses, wordsOf('en').responses);
      const shown = new Set(lettersOf(read(await report(language))));
      const {
        responses,
        complete,
        completionRate,
        duration,
        made,
        perDay,
        answered,
        skipped,
        answer,
        word,
        mentions,
        rest,
        count,
        percent,
        themes: heading,
        positive,
        negative,
        mixed,
        neutral,
      } = words;
      const wanted = [
        ...(samples[language] ?? []),
        responses,
        complete,
        completionRate,
        duration,
        made,
        perDay,
        answered,
        skipped,
        answer,
        word,
        mentions,
        rest,
        count,
        percent,
        heading,
        positive,
        negative,
        mixed,
        neutral,
        words.partial,
        words.screenedOut,
        words.overQuota,
        words.leftOut,
        words.notAsked,
        words.analysed,
        'Breakfast',
        'Noise',
      ].join('');
      assert.deepEqual(
        lettersOf(wanted).filter((letter) => !shown.has(letter)),
        [],
      );
    });

  it('can be searched for every Arabic word, also if letters differ only in their dots', async () => {
    const words = wordsOf('ar');
    const found = new Set(wordsIn(read(await report('ar'))));
    const wanted = wordsIn(
      [
        ...(samples['ar'] ?? []),
        ...dotted,
        words.percent,
        words.perDay,
        words.responses,
        words.answered,
        words.skipped,
        words.count,
      ].join(' '),
    );
    assert.ok(wanted.length > 20);
    assert.deepEqual(
      wanted.filter((word) => !found.has(word)),
      [],
    );
  });

  it('has numbers in Arabic digits in order', async () => {
    const found = read(await report('ar')).match(/\p{Nd}+/gu);
    for (const number of ['١٢٣', '۴۵۶', '١٩٨٧', '۱۳۶۵'])
      assert.equal(found?.filter((one) => one === number).length, 2, `${number} among ${found?.join(' ')}`);
  });

  it('begins on the right in right-to-left languages', async () => {
    const startOf = async (language: string): Promise<number> => {
      const found = /<word xMin="([\d.]+)" yMin="[\d.]+" xMax="[\d.]+" yMax="[\d.]+">(?:1\.|\.1)<\/word>/.exec(
        read(await report(language), '-bbox'),
      );
      assert.ok(found, language);
      return Number(found[1]);
    };
    assert.ok((await startOf('de')) < 100);
    for (const language of ['ar', 'he', 'fa']) assert.ok((await startOf(language)) > 500, language);
  });

  it('tells the outcomes of the responses, which of them no question counts, and how many were not asked', async () => {
    const text = read(await report('en')).replaceAll(/\s+/g, ' ');
    for (const shown of [
      'Partial: 2 Complete: 4 Screened out: 17 Over quota: 38',
      'Not in the figures of questions: Screened out (17), Over quota (38)',
      'Answered: 4 Skipped: 0 Not asked: 2',
    ])
      assert.ok(text.includes(shown), text);
  });

  it('shows themes as percentages of the responses that were analysed, and how many those are', async () => {
    const text = read(await report('en'), '-layout').replaceAll(/\s+/g, ' ');
    assert.match(text, /Themes of the open answers Responses analysed: 4 /);
    assert.match(text, /Breakfast 2 \(50\.0 ?%\) Noise 1 \(25\.0 ?%\)/);
  });

  it('shows the mean and the median duration, and no duration instead of zero if there is none', async () => {
    const timesOf = async (mean: number | null, median: number | null) =>
      read(await report('en', mean, median)).match(/\b\d\d:\d\d:\d\d\b/g);
    assert.deepEqual(
      [await timesOf(null, null), await timesOf(0, 0), await timesOf(3723, 61)],
      [null, ['00:00:00', '00:00:00'], ['01:02:03', '00:01:01']],
    );
    assert.match(read(await report('en', 3723, 61)), /Median duration/);
  });

  it('makes the same bytes twice', async () => {
    assert.deepEqual(await report('ar'), await report('ar'));
  });
});
