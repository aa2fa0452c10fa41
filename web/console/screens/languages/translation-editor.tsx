import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { directionOf } from '../../../../src/domain/translation/languages.ts';
import { useDraft } from '../../app/drafts.ts';
import { toast } from '../../app/toasts.tsx';
import { isChangedMeanwhile } from '../../data/problems.ts';
import { pollUnlessRefused, rereadMs } from '../../data/query-client.ts';
import { definitionOf } from '../../data/questions.ts';
import { readSurvey, viewsAreTold } from '../../data/survey-reads.ts';
import { readTranslation, saveTranslation, type TranslationChange, translationQuery } from '../../data/translations.ts';
import { Button } from '../../parts/button.tsx';
import { Checkbox, Select } from '../../parts/choice-fields.tsx';
import { ConflictPanel, ProblemPanel } from '../../parts/conflict.tsx';
import { ErrorState, FormError, Loading, StaleNote } from '../../parts/feedback.tsx';
import { Card } from '../../parts/page.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './languages.module.css';
import { TextRow } from './text-row.tsx';
import {
  changeOf,
  pathInBody,
  type SourceText,
  type TextGroup,
  type TranslatedText,
  textGroups,
  textPairs,
  translatedTexts,
} from './texts.ts';

const route = getRouteApi('/app/surveys/$surveyId/languages');
/** Groups that are shown at once: a survey may have 500 questions. */
const groupsAtOnce = 30;

interface TranslationEditorProps {
  surveyId: string;
  own: string;
  language: string;
  /** It has no text yet. */
  isNew: boolean;
  /** Other translations, which can stand beside it. */
  others: readonly string[];
  groups: readonly TextGroup[];
  isReadOnly: boolean;
}

/** The texts of a survey and their translation side by side. */
export function TranslationEditor(props: TranslationEditorProps) {
  const { surveyId, own, language, isNew, others, groups, isReadOnly } = props;
  const { beside, show } = route.useSearch();
  const navigate = route.useNavigate();
  const [groupCount, setGroupCount] = useState(groupsAtOnce);
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
  const second = others.find((other) => other === beside);
  const { data: secondData } = useQuery({
    ...translationQuery(surveyId, second ?? ''),
    enabled: second !== undefined,
  });
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
    listAnew();
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
  const stale = new Set(translation?.stale);
  const isOpen = (path: string) => fields[path]?.text === '' || stale.has(path) || changes[path] !== undefined;
  const paths = groups.flatMap(({ texts }) => texts.map(({ path }) => path));
  const isRead = translation !== undefined || wasNew;
  const [listed, listAnew] = useListed(show === 'open', isRead ? paths.filter(isOpen) : []);
  if (!isRead) return error ? <ErrorState error={error} onRetry={refetch} /> : <Loading lines={6} />;

  const secondTexts = second === undefined ? undefined : translatedTexts(secondData);
  const shown = groups
    .map((group) => ({
      ...group,
      texts: show === 'open' ? group.texts.filter(({ path }) => listed.has(path)) : group.texts,
    }))
    .filter(({ texts }) => texts.length > 0);
  const name = languageName(language);
  const deleted = entriesOf(changes).filter(([path]) => !(path in stored));
  return (
    <Card title={`${languageName(own)} and ${name}`}>
      <form className={styles.editor} onSubmit={(event) => void submit(event)} noValidate>
        {translation === undefined && !isNew && <StaleNote error={error} />}
        <div className={styles.controls}>
          <Checkbox
            isSelected={show === 'open'}
            onChange={(next) =>
              void navigate({ search: (old) => ({ ...old, show: next ? 'open' : undefined }), replace: true })
            }
          >
            Only what is missing or out of date
          </Checkbox>
          {others.length > 0 && (
            <Select
              label="Beside it"
              isLabelHidden
              options={[
                { value: 'none', label: 'No other language' },
                ...others.map((value) => ({ value, label: `Beside ${languageName(value)}` })),
              ]}
              value={second ?? 'none'}
              onChange={(next: string) =>
                void navigate({
                  search: (old) => ({ ...old, beside: next === 'none' ? undefined : next }),
                  replace: true,
                })
              }
            />
          )}
        </div>
        {shown.length === 0 && <p className="muted">Every text is translated and up to date.</p>}
        {shown.slice(0, groupCount).map(({ id, title, texts }) => (
          <section key={id} className={styles.group} aria-label={title}>
            <h3>{title}</h3>
            {texts.map((text) => (
              <TextRow
                key={text.path}
                source={text}
                label={`${title}, ${text.part}, in ${name}`}
                own={own}
                language={language}
                direction={directionOf(language)}
                second={second}
                secondText={secondTexts?.[text.path]}
                value={fields[text.path]?.text ?? ''}
                onChange={(value) => type(text, value)}
                state={changes[text.path] !== undefined ? 'changed' : stale.has(text.path) ? 'stale' : undefined}
                isReadOnly={isReadOnly}
                error={errorOf(pathInBody(body, text.path))}
              />
            ))}
          </section>
        ))}
        {shown.length > groupCount && (
          <Button onPress={() => setGroupCount(groupCount + groupsAtOnce)}>
            Show more ({shown.length - groupCount})
          </Button>
        )}
        <ConflictPanel
          conflicts={groups.flatMap(({ title, texts }) =>
            texts
              .filter(({ path }) => path in draft.conflicts)
              .map(({ path, part }) => ({
                field: path,
                name: `${title}, ${part}`,
                mine: sideOf(changes[path], stored[path]),
                theirs: sideOf(stored[path], changes[path]),
              })),
          )}
          onResolve={decide}
        />
        {deleted.length > 0 && (
          <ProblemPanel label="Deleted meanwhile">
            <h3>What you have translated is not in the survey any more</h3>
            {deleted.map(([path, { text, original }]) => (
              <div key={path}>
                <h4 dir="auto">{original}</h4>
                <p dir="auto">{text}</p>
                <Button onPress={() => resolve(path, 'theirs')}>Discard</Button>
              </div>
            ))}
          </ProblemPanel>
        )}
        {problem !== undefined && <FormError>{problem}</FormError>}
        {entriesOf(changes).length > deleted.length && (
          <div className={styles.actions}>
            <span className="muted">Not saved yet</span>
            <Button onPress={reset} isPending={isResetting} isDisabled={isPending}>
              Discard
            </Button>
            <Button type="submit" look="primary" isPending={isPending}>
              Save
            </Button>
          </div>
        )}
      </form>
    </Card>
  );
}

/**
 * The paths of the texts that are open, or were since only such texts are shown, or since the function was called: what
 * another user stores takes nothing away that is looked at.
 */
function useListed(isFiltered: boolean, open: readonly string[]): [ReadonlySet<string>, () => void] {
  const [listed, setListed] = useState<ReadonlySet<string>>(noPaths);
  if (!isFiltered && listed !== noPaths) setListed(noPaths);
  if (isFiltered && open.some((path) => !listed.has(path))) setListed(new Set([...listed, ...open]));
  return [listed, () => setListed(noPaths)];
}

const noPaths: ReadonlySet<string> = new Set();

const entriesOf = (changes: Partial<Record<string, TranslatedText>>): [string, TranslatedText][] =>
  Object.entries(changes).flatMap(([path, text]): [string, TranslatedText][] => (text ? [[path, text]] : []));

/** One side of a conflict, with its wording where that of the other is another one. */
function sideOf(side: TranslatedText | undefined, other: TranslatedText | undefined): string {
  const text = side?.text || 'nothing';
  return side?.original === other?.original ? text : `${text} (for “${side?.original}”)`;
}
