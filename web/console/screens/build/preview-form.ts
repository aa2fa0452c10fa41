import type { MatchedOptionsFrom } from '../../../../src/domain/path/definition.ts';
import { fileKindsOf } from '../../../../src/domain/questions/file-kinds.ts';
import type { PageQuestion } from '../../../../src/http/page-state.ts';
import type { PreviewShow } from '../../../shared/preview-messages.ts';
import type { Definition, Item, Question, Section } from '../../data/questions.ts';
import type { Translation } from '../../data/translations.ts';

interface PreviewFormOptions {
  translation: Translation | undefined;
  /** Whether conditions, skips and shuffling count; otherwise everything is shown in its designed order. */
  hasPaths: boolean;
}

/** A survey as it is edited, in the form that the service hands over to the respondent's page. */
export function previewForm(
  survey: Definition,
  { translation, hasPaths }: PreviewFormOptions,
): Pick<PreviewShow, 'form' | 'colors'> {
  const shown = translation ? inLanguage(survey, translation) : survey;
  const { id, title, description, isAnonymous, version, appearance } = shown;
  const { pageMode, closingText, redirectUrl, logo, primaryColor, backgroundColor } = appearance;
  return {
    form: {
      survey: {
        id,
        title,
        description,
        isAnonymous,
        version,
        isShuffled: hasPaths && shown.isShuffled,
        appearance: { pageMode, closingText, redirectUrl, logo },
        sections: shown.sections.map((section) => (hasPaths ? section : withoutPath(section))),
        questions: shown.questions.map((question) => pageQuestion(shown, question, hasPaths)),
      },
      surveyLanguage: survey.language,
      isNamedByInvitation: false,
      collectorId: null,
      invitation: null,
      metadata: {},
      draftKey: 'preview',
    },
    colors: { primaryColor, backgroundColor },
  };
}

const withoutPath = (section: Section): Section => ({ ...section, visibleIf: null, isShuffled: false });
const withoutCondition = (items: readonly Item[]): Item[] => items.map((item) => ({ ...item, visibleIf: null }));

function pageQuestion(survey: Definition, question: Question, hasPaths: boolean): PageQuestion {
  const { options, settings, ...rest } = question;
  const fileKinds = fileKindsOf(settings);
  if (hasPaths) return { ...question, fileKinds, optionsFrom: matched(survey, question) };
  const { rows } = settings;
  return {
    ...rest,
    fileKinds,
    visibleIf: null,
    skips: [],
    optionsFrom: null,
    options: withoutCondition(options),
    settings: { ...settings, shuffleOptions: false, shuffleRows: false, ...(rows && { rows: withoutCondition(rows) }) },
  };
}

/** Options (rows, for a MATRIX) stand for those of the earlier question with the same value. */
function matched(survey: Definition, { type, optionsFrom, options, settings }: Question): MatchedOptionsFrom | null {
  if (!optionsFrom) return null;
  const source = survey.questions.find(({ id }) => id === optionsFrom.questionId);
  const idOf = new Map((source?.options ?? []).map(({ id, value }) => [value, id]));
  const own = type === 'MATRIX' ? (settings.rows ?? []) : options;
  const matches = own.flatMap(({ id, value }) => {
    const from = value === undefined ? undefined : idOf.get(value);
    return from === undefined ? [] : [{ optionId: id, from }];
  });
  return { ...optionsFrom, matches };
}

/** What is not translated stays in the survey's own language. */
function inLanguage(survey: Definition, translation: Translation): Definition {
  const sections = new Map(translation.sections.map((texts) => [texts.id, texts]));
  const questions = new Map(translation.questions.map((texts) => [texts.id, texts]));
  const or = <Text extends string | null>(source: Text, text: string | undefined) =>
    source ? (text ?? source) : source;
  const items = (own: readonly Item[], texts: readonly { id: string; text: string }[] = []): Item[] => {
    const byId = new Map(texts.map(({ id, text }) => [id, text]));
    return own.map((item) => ({ ...item, text: or(item.text, byId.get(item.id)) }));
  };
  return {
    ...survey,
    title: or(survey.title, translation.title),
    description: or(survey.description, translation.description),
    appearance: { ...survey.appearance, closingText: or(survey.appearance.closingText, translation.closingText) },
    sections: survey.sections.map((section) => {
      const texts = sections.get(section.id);
      return {
        ...section,
        title: or(section.title, texts?.title),
        description: or(section.description, texts?.description),
      };
    }),
    questions: survey.questions.map((question) => {
      const texts = questions.get(question.id);
      const { rows } = question.settings;
      return {
        ...question,
        text: or(question.text, texts?.text),
        description: or(question.description, texts?.description),
        options: items(question.options, texts?.options),
        settings: { ...question.settings, ...(rows && { rows: items(rows, texts?.rows) }) },
      };
    }),
  };
}
