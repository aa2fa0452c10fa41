import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { colorIssues, contrastOf } from '../../../src/domain/contrast.ts';
import { type Condition, skipToEnd } from '../../../src/domain/path/definition.ts';
import type { Question } from '../../../src/domain/survey.ts';
import { isLarge } from '../../../src/http/page-document.ts';
import { renderDocument } from '../../../src/http/page-html.ts';
import type { PageState, PageSurvey } from '../../../src/http/page-state.ts';
import { pageStyleOf } from '../../../src/http/page-style.ts';
import { presentPublicSurvey } from '../../../src/http/routes/public.ts';
import { type QuestionSketch, surveyOf } from '../../support/path-surveys.ts';

const many = <Item>(length: number, item: Item): Item[] => Array.from({ length }, () => item);

function stateOf(
  sketches: readonly QuestionSketch[],
  metadata: Record<string, string> = {},
  fields: Partial<PageSurvey> = {},
): PageState {
  const { survey } = surveyOf(sketches);
  const shown = presentPublicSurvey({ survey, language: 'en', languages: ['en'] });
  return {
    build: '',
    link: survey.id,
    language: 'en',
    direction: 'ltr',
    languages: ['en'],
    query: '',
    title: survey.title,
    notice: null,
    form: {
      survey: { ...(shown as PageSurvey), ...fields },
      surveyLanguage: 'en',
      responseId: survey.id,
      isNamedByInvitation: false,
      collectorId: null,
      invitation: null,
      metadata,
      draftKey: '',
      maxUploadBytes: 1_000_000,
    },
  };
}

const text = '{{metadata:k}}'.repeat(140);
const values = { plain: { k: 'x'.repeat(1000) }, escaped: { k: '&'.repeat(1000) } };
const short = { type: 'SHORT_TEXT' } as const;
const grid = (rows: number, columns: number, wording: string): QuestionSketch => ({
  type: 'MATRIX',
  options: Array.from({ length: columns }, (_, n) => ({ text: `${n}${wording}` })),
  settings: { rows: Array.from({ length: rows }, (_, n) => ({ text: `Row ${n}` })) },
});

describe('the respondent’s page', () => {
  const frame = { head: '', isLight: false, encoding: undefined };

  it('is of bounded size, whatever its link makes placeholders insert', async () => {
    for (const sketches of [many(12, { ...short, text }), many(2, grid(60, 5, text.slice(0, 490)))]) {
      const page = await renderDocument(stateOf(sketches, values.escaped), frame);
      // Each character that is inserted is written as five.
      assert.ok(page.length < 3_000_000, `${page.length} bytes`);
    }
  });

  it('names the kinds of files that a question takes', async () => {
    const officeText = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
    const mimeTypes = ['image/png', 'application/pdf', officeText];
    const hintOf = async (settings: object) => {
      const page = await renderDocument(stateOf([{ type: 'FILE_UPLOAD', settings }]), frame);
      return /class="hint"[^>]*>(?:<p>)?([^<]*)/.exec(String(page))?.[1];
    };
    assert.equal(await hintOf({}), 'At most 976.6 kB.');
    assert.equal(await hintOf({ mimeTypes }), 'At most 976.6 kB. Kinds of files taken: PNG, PDF, DOCX');
  });

  it('lets choosers of files find old Office files, whose type no system knows', async () => {
    const settings = { mimeTypes: ['application/x-cfb', 'application/pdf'] };
    const page = await renderDocument(stateOf([{ type: 'FILE_UPLOAD', settings }]), frame);
    const [, accept] = / accept="([^"]*)/.exec(String(page)) ?? [];
    assert.equal(accept, 'application/x-cfb,.doc,.xls,.ppt,application/pdf');
  });
});

describe('colours of a survey on its page', () => {
  const styleOf = (primaryColor: string) => pageStyleOf({ primaryColor, backgroundColor: '#fafafa' });
  /** The colour of a token in light and in the dark. */
  const shadesOf = (style: string, name: string) =>
    [...style.matchAll(new RegExp(`--color-${name}:([^;}]*)`, 'g'))].map(([, color = '']) => color);

  it('are mixed here, since browsers before Chrome 111 and Safari 16.2 cannot', () => {
    const style = styleOf('#0b6e4f');
    for (const [, color = ''] of style.matchAll(/--color-[a-z-]+:([^;}]+)/g)) assert.match(color, /^#[0-9a-f]{6}$/);
    assert.deepEqual(shadesOf(style, 'accent-hover'), ['#095e43', '#b6d4ca']);
    assert.deepEqual(shadesOf(style, 'accent-soft'), ['#e7f1ed', '#10302b']);
  });

  it('can be read in the dark, whichever is taken', () => {
    for (const color of ['#000000', '#0000ff', '#767676', '#d30000']) {
      assert.deepEqual(colorIssues({ primaryColor: color, backgroundColor: null }), []);
      const [button = '', text = ''] = ['accent', 'on-accent'].map((name) => shadesOf(styleOf(color), name)[1]);
      assert.ok(contrastOf(button, text) >= 4.5, `${text} on ${button}`);
    }
  });
});

describe('a page is made in the thread of the large ones', () => {
  it('where placeholders may insert much', () => {
    assert.equal(isLarge(stateOf(many(12, { ...short, text }))), false);
    for (const metadata of Object.values(values))
      assert.equal(isLarge(stateOf(many(12, { ...short, text }), metadata)), true);
  });

  it('where the description of the survey, or of a section, has many placeholders', () => {
    const description = text + text;
    const section = { id: 's1', title: 'First', description };
    assert.equal(isLarge(stateOf([short], values.plain)), false);
    for (const fields of [{ description }, { sections: [section] }])
      assert.equal(isLarge(stateOf([short], values.plain, fields)), true);
  });

  it('where its texts are long as HTML', () => {
    assert.equal(isLarge(stateOf(many(40, { ...short, text: 'x'.repeat(1900) }))), false);
    assert.equal(isLarge(stateOf(many(40, { ...short, text: '&'.repeat(1900) }))), true);
  });

  it('where it has many questions, points of scales, or cells of a MATRIX', () => {
    assert.equal(isLarge(stateOf(many(30, short))), false);
    assert.equal(isLarge(stateOf(many(300, short))), true);
    assert.equal(isLarge(stateOf(many(60, { type: 'NPS' }))), true);
    assert.equal(isLarge(stateOf([grid(10, 10, '')])), false);
    assert.equal(isLarge(stateOf([grid(50, 50, '')])), true);
  });

  it('where its conditions are long or many', () => {
    const { survey, questions } = surveyOf([short]);
    const [{ id: questionId }] = questions as [Question];
    const anyOf = (count: number, length: number): Condition => ({
      any: many(count, { questionId, operator: 'equalsText', value: 'ж'.repeat(length) }),
    });
    const sketchesOf = (count: number, condition: Condition): Record<string, QuestionSketch[]> => {
      const items = many(count, { text: 'Item', visibleIf: condition });
      return {
        questions: many(count, { ...short, visibleIf: condition }),
        skips: [{ ...short, skips: many(count, { if: condition, to: skipToEnd }) }],
        options: [{ type: 'MULTIPLE_CHOICE', options: items }],
        rows: [{ ...grid(1, 2, ''), settings: { rows: items } }],
      };
    };
    for (const [place, sketches] of Object.entries(sketchesOf(3, anyOf(50, 20))))
      assert.equal(isLarge(stateOf(sketches)), false, `a few conditions of ${place}`);
    for (const [place, sketches] of Object.entries(sketchesOf(40, anyOf(50, 20))))
      assert.equal(isLarge(stateOf(sketches)), true, `many conditions of ${place}`);
    for (const [place, sketches] of Object.entries(sketchesOf(3, anyOf(50, 900))))
      assert.equal(isLarge(stateOf(sketches)), true, `long conditions of ${place}`);
    const sections = many(40, { id: survey.id, title: '', description: null, visibleIf: anyOf(50, 20) });
    assert.equal(isLarge(stateOf([short], {}, { sections })), true);
  });
});
