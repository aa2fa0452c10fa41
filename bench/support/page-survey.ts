import type { Client } from '../../test/support/client.ts';

/**
 * A survey of 30 questions in six sections as an institute would ask it, in the form of this service and in that of
 * SurveyJS.
 */

interface BenchQuestion {
  type: 'MULTIPLE_CHOICE' | 'CHECKBOXES' | 'DROPDOWN' | 'RATING_SCALE' | 'NPS' | 'YES_NO' | 'SHORT_TEXT' | 'LONG_TEXT';
  text: string;
  options?: readonly string[];
}
interface MatrixQuestion {
  type: 'MATRIX';
  text: string;
  options: readonly string[];
  rows: readonly string[];
}
type PageQuestion = BenchQuestion | MatrixQuestion;

const agreement = ['Strongly disagree', 'Disagree', 'Neither', 'Agree', 'Strongly agree'];
const often = ['Never', 'Once a year', 'Once a month', 'Once a week', 'More often'];

/** One section; each of the six asks about another subject. */
const sectionOn = (subject: string): readonly PageQuestion[] => [
  { type: 'MULTIPLE_CHOICE', text: `How often do you use ${subject}?`, options: often },
  {
    type: 'CHECKBOXES',
    text: `What do you value about ${subject}?`,
    options: ['Price', 'Quality', 'Speed', 'Friendly people', 'Opening hours', 'None of these'],
  },
  {
    type: 'MATRIX',
    text: `How far do you agree with these statements about ${subject}?`,
    options: agreement,
    rows: ['It is easy to find', 'It is worth its price', 'I feel welcome'],
  },
  { type: 'RATING_SCALE', text: `How satisfied are you with ${subject}?` },
  { type: 'LONG_TEXT', text: `What should change about ${subject}?` },
];

const subjects = ['the library', 'the swimming pool', 'buses and trams', 'the parks', 'the museum', 'the town hall'];
const sections = subjects.map((subject) => ({ title: subject, questions: sectionOn(subject) }));

const surveyTitle = 'Life in our town';

/** Publishes it; the last part of its page's address is returned. */
export async function publishSurvey(client: Client): Promise<string> {
  const survey = await client.create('/surveys', { title: surveyTitle, description: 'It takes about five minutes.' });
  for (const { title, questions } of sections) {
    const section = await client.create(`/surveys/${survey.id}/sections`, { title });
    for (const question of questions) {
      const { type, text, options = [] } = question;
      await client.create(`/surveys/${survey.id}/questions`, {
        type,
        text,
        sectionId: section.id,
        options: options.map((option) => ({ text: option })),
        ...('rows' in question && { settings: { rows: question.rows.map((row) => ({ text: row })) } }),
      });
    }
  }
  await client.post(`/surveys/${survey.id}/publish`);
  return survey.id;
}

const surveyJsTypes: Readonly<Record<PageQuestion['type'], string>> = {
  MULTIPLE_CHOICE: 'radiogroup',
  CHECKBOXES: 'checkbox',
  DROPDOWN: 'dropdown',
  RATING_SCALE: 'rating',
  NPS: 'rating',
  YES_NO: 'boolean',
  SHORT_TEXT: 'text',
  LONG_TEXT: 'comment',
  MATRIX: 'matrix',
};

/** The same for `new Model(…)` of SurveyJS. */
export const surveyJsModel = {
  title: surveyTitle,
  description: 'It takes about five minutes.',
  showProgressBar: true,
  pages: sections.map(({ title, questions }, page) => ({
    name: `page${page}`,
    title,
    elements: questions.map((question, n) => ({
      type: surveyJsTypes[question.type],
      name: `question${page}_${n}`,
      title: question.text,
      ...('rows' in question
        ? { columns: question.options, rows: question.rows }
        : question.options && { choices: question.options }),
    })),
  })),
};

/** The first section as HTML without script or style: the least that any page of this survey must send. */
export function bareDocument(): string {
  const [section] = sections;
  const control = (question: PageQuestion, name: number): string => {
    const choice = (kind: string, text: string, group: string) =>
      `<label><input type="${kind}" name="${group}">${text}</label>`;
    if ('rows' in question)
      return question.rows
        .map((row, at) => `<p>${row}${question.options.map((o) => choice('radio', o, `${name}_${at}`)).join('')}</p>`)
        .join('');
    if (question.type === 'LONG_TEXT') return '<textarea></textarea>';
    const kind = question.type === 'CHECKBOXES' ? 'checkbox' : 'radio';
    return (question.options ?? ['1', '2', '3', '4', '5']).map((text) => choice(kind, text, String(name))).join('');
  };
  const body = (section?.questions ?? []).map(
    (question, n) => `<fieldset><legend>${question.text}</legend>${control(question, n)}</fieldset>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>${surveyTitle}</title><h1>${surveyTitle}</h1><form>${body.join('')}</form></html>`;
}
