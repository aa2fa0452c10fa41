import type { Definition } from '../../data/questions.ts';
import type { Translation, TranslationChange } from '../../data/translations.ts';

/** A text that respondents see. */
export interface SourceText {
  /** Its name in the API, such as `questions.ID.options.ID`. */
  path: string;
  /** What it is within its group. */
  part: string;
  text: string;
}

/** The texts of the survey itself, of a section or of a question. */
export interface TextGroup {
  id: string;
  title: string;
  texts: SourceText[];
}

const present = (texts: (Omit<SourceText, 'text'> & { text: string | null | undefined })[]): SourceText[] =>
  texts.flatMap(({ text, ...rest }) => (text ? [{ ...rest, text }] : []));

/** All texts of a survey that can be translated, in their order. */
export function textGroups({ title, description, appearance, sections, questions }: Definition): TextGroup[] {
  const survey = {
    id: 'survey',
    title: 'Survey',
    texts: present([
      { path: 'title', part: 'Title', text: title },
      { path: 'description', part: 'Description', text: description },
      { path: 'closingText', part: 'Closing text', text: appearance.closingText },
    ]),
  };
  const ofSections = sections.map(({ id, title, description }, index) => ({
    id,
    title: `Section ${index + 1}`,
    texts: present([
      { path: `sections.${id}.title`, part: 'Title', text: title },
      { path: `sections.${id}.description`, part: 'Description', text: description },
    ]),
  }));
  const ofQuestions = questions.map(({ id, text, description, options, settings }, index) => ({
    id,
    title: `Question ${index + 1}`,
    texts: present([
      { path: `questions.${id}.text`, part: 'Text', text },
      { path: `questions.${id}.description`, part: 'Description', text: description },
      ...options.map((option, at) => ({
        path: `questions.${id}.options.${option.id}`,
        part: `Option ${at + 1}`,
        text: option.text,
      })),
      ...(settings.rows ?? []).map((row, at) => ({
        path: `questions.${id}.rows.${row.id}`,
        part: `Row ${at + 1}`,
        text: row.text,
      })),
    ]),
  }));
  return [survey, ...ofSections, ...ofQuestions].filter(({ texts }) => texts.length > 0);
}

/** The texts of a translation by their paths. */
export function translatedTexts(translation: Translation | undefined): Record<string, string> {
  if (!translation) return {};
  const { title, description, closingText, sections, questions } = translation;
  const pairs: [string, string | undefined][] = [
    ['title', title],
    ['description', description],
    ['closingText', closingText],
    ...sections.flatMap((section): [string, string | undefined][] => [
      [`sections.${section.id}.title`, section.title],
      [`sections.${section.id}.description`, section.description],
    ]),
    ...questions.flatMap(({ id, text, description, options = [], rows = [] }): [string, string | undefined][] => [
      [`questions.${id}.text`, text],
      [`questions.${id}.description`, description],
      ...options.map((option): [string, string] => [`questions.${id}.options.${option.id}`, option.text]),
      ...rows.map((row): [string, string] => [`questions.${id}.rows.${row.id}`, row.text]),
    ]),
  ];
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** A text in another language, and the wording that it translates. */
export interface TranslatedText {
  /** Empty: there is none. */
  text: string;
  original: string;
}

/** All texts of a survey by their paths, as they are translated. */
export const textPairs = (
  groups: readonly TextGroup[],
  translation: Translation | undefined,
): Record<string, TranslatedText> => {
  const translated = translatedTexts(translation);
  return Object.fromEntries(
    groups.flatMap(({ texts }) =>
      texts.map(({ path, text }) => [path, { text: translated[path] ?? '', original: text }]),
    ),
  );
};

type QuestionChange = NonNullable<TranslationChange['questions']>[number];
type SectionChange = NonNullable<TranslationChange['sections']>[number];

/** The body that stores changed texts; an empty text removes its translation. */
export function changeOf(changes: Readonly<Record<string, { text: string }>>): TranslationChange {
  const body: Record<string, unknown> = {};
  const sections = new Map<string, SectionChange>();
  const questions = new Map<string, QuestionChange>();
  for (const [path, { text: typed }] of Object.entries(changes)) {
    const text = typed.trim() === '' ? null : typed;
    const [kind = '', id = '', field = '', itemId = ''] = path.split('.');
    if (kind === 'sections') sections.set(id, { id, ...sections.get(id), [field]: text });
    else if (kind !== 'questions') body[kind] = text;
    else if (field === 'options' || field === 'rows') {
      const question: QuestionChange = questions.get(id) ?? { id };
      questions.set(id, { ...question, [field]: [...(question[field] ?? []), { id: itemId, text }] });
    } else questions.set(id, { id, ...questions.get(id), [field]: text });
  }
  return {
    ...body,
    ...(sections.size > 0 && { sections: [...sections.values()] }),
    ...(questions.size > 0 && { questions: [...questions.values()] }),
  };
}

/** The name of a text in the refusal of a body, which counts sections, questions, options and rows from 0. */
export function pathInBody({ sections = [], questions = [] }: TranslationChange, path: string): string {
  const [kind = '', id, field = '', itemId] = path.split('.');
  if (kind !== 'sections' && kind !== 'questions') return path;
  const index = (kind === 'sections' ? sections : questions).findIndex((one) => one.id === id);
  if (field !== 'options' && field !== 'rows') return `${kind}.${index}.${field}`;
  const place = questions[index]?.[field]?.findIndex((item) => item.id === itemId) ?? -1;
  return `${kind}.${index}.${field}.${place}.text`;
}
