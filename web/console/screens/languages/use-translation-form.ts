import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { useDraft } from '../../app/drafts.ts';
import { toast } from '../../app/toasts.tsx';
import { isChangedMeanwhile } from '../../data/problems.ts';
import { pollUnlessRefused, rereadMs } from '../../data/query-client.ts';
import { definitionOf } from '../../data/questions.ts';
import { readSurvey, viewsAreTold } from '../../data/survey-reads.ts';
import { readTranslation, saveTranslation, type TranslationChange, translationQuery } from '../../data/translations.ts';
import { useSubmit } from '../../parts/use-submit.ts';
import {
  changeOf,
  pathInBody,
  type SourceText,
  type TextGroup,
  type TranslatedText,
  textGroups,
  textPairs,
} from './texts.ts';

interface TranslationForm {
  surveyId: string;
  language: string;
  /** It has no text yet. */
  isNew: boolean;
  groups: readonly TextGroup[];
  onSaved(): void;
}

/** The texts of a translation as they are stored, as the author has changed them, and their way into the survey. */
export function useTranslationForm({ surveyId, language, isNew, groups, onSaved }: TranslationForm) {
  const { data, error, refetch } = useQuery({
    ...translationQuery(surveyId, language),
    enabled: !isNew,
    refetchInterval: pollUnlessRefused(rereadMs),
  });
  // What was read before somebody else deleted the translation is not stored any more.
  const translation = isNew ? undefined : data;
  // A form that was shown stays while the texts are read that somebody else has stored meanwhile.
  const [wasNew, setWasNew] = useState(isNew);
  if (isNew && !wasNew) setWasNew(true);
  const stored = textPairs(groups, translation);
  const { fields, changes, edit, isResetting, reset, resolve, ...draft } = useDraft<Record<string, TranslatedText>>(
    `${surveyId} ${language}`,
    stored,
  );
  /** What was sent last: the service names fields by their places in it. */
  const [body, setBody] = useState<TranslationChange>({});
  /** Stores the changes over what is stored at present; undefined: somebody else has changed the same texts. */
  const save = async (changed: typeof changes): Promise<typeof fields | undefined> => {
    for (;;) {
      const [survey, seen] = await Promise.all([readSurvey(surveyId), readTranslation(surveyId, language)]);
      const present = textGroups(definitionOf(survey));
      const pairs = textPairs(present, seen);
      // What was deleted meanwhile has no translation any more, and keeps no other text from being saved.
      const sent = entriesOf(changed).filter(([path]) => path in pairs);
      if (sent.length === 0 || !draft.isUnchanged({ ...Object.fromEntries(entriesOf(changed)), ...pairs }))
        return undefined;
      // There is nothing to remove, and the service makes no translation without a text.
      if (!seen && sent.every(([, { text }]) => text.trim() === '')) return pairs;
      const body = changeOf(Object.fromEntries(sent));
      setBody(body);
      try {
        const saved = await saveTranslation(surveyId, language, { body, seen, surveyVersion: survey.version });
        toast({ text: `${languageName(language)} is saved.` });
        return textPairs(present, saved);
      } catch (error) {
        // Perhaps in other texts.
        if (!isChangedMeanwhile(error)) throw error;
      }
    }
  };
  const { submit, isPending, problem, errorOf } = useSubmit(async () => {
    if (!(await draft.save(save))) return;
    await viewsAreTold();
    onSaved();
  });
  /** The wording that was translated at first stays beside what is typed: it may change meanwhile. */
  const type = ({ path, text }: SourceText, value: string) => {
    const original = value === stored[path]?.text ? text : (changes[path]?.original ?? text);
    edit({ [path]: { text: value, original } });
  };
  const decide = (path: string, choice: 'mine' | 'theirs') => {
    const [mine, theirs] = [changes[path], stored[path]];
    if (choice === 'mine' && mine && theirs) edit({ [path]: { ...mine, original: theirs.original } });
    resolve(path, choice);
  };

  return {
    translation,
    isRead: translation !== undefined || wasNew,
    error,
    refetch,
    stored,
    fields,
    changes,
    /** Changed texts that are not in the survey any more. */
    deleted: entriesOf(changes).filter(([path]) => !(path in stored)),
    isChanged: entriesOf(changes).some(([path]) => path in stored),
    conflicts: draft.conflicts,
    type,
    decide,
    discard: (path: string) => resolve(path, 'theirs'),
    reset,
    isResetting,
    submit,
    isPending,
    problem,
    errorOf: (path: string) => errorOf(pathInBody(body, path)),
  };
}

const entriesOf = (changes: Partial<Record<string, TranslatedText>>): [string, TranslatedText][] =>
  Object.entries(changes).flatMap(([path, text]): [string, TranslatedText][] => (text ? [[path, text]] : []));
