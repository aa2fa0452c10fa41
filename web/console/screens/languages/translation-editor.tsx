import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { directionOf } from '../../../../src/domain/translation/languages.ts';
import { useDraft } from '../../app/drafts.ts';
import { toast } from '../../app/toasts.tsx';
import { isChangedMeanwhile } from '../../data/problems.ts';
import { readTranslation, saveTranslation, type Translation, translationQuery } from '../../data/translations.ts';
import { Button } from '../../parts/button.tsx';
import { Checkbox, Select } from '../../parts/choice-fields.tsx';
import { ConflictPanel } from '../../parts/conflict.tsx';
import { ErrorState, FormError, Loading } from '../../parts/feedback.tsx';
import { Card } from '../../parts/page.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './languages.module.css';
import { TextRow } from './text-row.tsx';
import { changeOf, type TextGroup, translatedTexts } from './texts.ts';

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
  const { data, error, refetch } = useQuery({ ...translationQuery(surveyId, language), enabled: !isNew });
  const second = others.find((other) => other === beside);
  const { data: secondData } = useQuery({
    ...translationQuery(surveyId, second ?? ''),
    enabled: second !== undefined,
  });
  const { fields, changes, isChanged, edit, reset, ...draft } = useDraft(
    `${surveyId} ${language}`,
    translatedTexts(data),
  );
  /** Stores the changes over what is stored at present; undefined: somebody else has changed the same texts. */
  const save = async (): Promise<Translation | undefined> => {
    for (;;) {
      const seen = await readTranslation(surveyId, language);
      if (seen && !draft.isUnchanged(translatedTexts(seen))) return undefined;
      try {
        return await saveTranslation(surveyId, language, { body: changeOf(changes), seen });
      } catch (error) {
        // Perhaps in other texts.
        if (!isChangedMeanwhile(error)) throw error;
      }
    }
  };
  const { submit, isPending, problem, errorOf } = useSubmit(async () => {
    const saved = await save();
    if (!saved) return;
    draft.saved(changes, translatedTexts(saved));
    toast({ text: `${languageName(language)} is saved.` });
  });
  if (!data && !isNew) return error ? <ErrorState error={error} onRetry={refetch} /> : <Loading lines={6} />;

  const stale = new Set(data?.stale);
  const secondTexts = second === undefined ? undefined : translatedTexts(secondData);
  // What is being typed stays in sight.
  const isOpen = (path: string) => fields[path] === undefined || stale.has(path) || changes[path] !== undefined;
  const shown = groups
    .map((group) => ({
      ...group,
      texts: show === 'open' ? group.texts.filter(({ path }) => isOpen(path)) : group.texts,
    }))
    .filter(({ texts }) => texts.length > 0);
  const name = languageName(language);
  return (
    <Card title={`${languageName(own)} and ${name}`}>
      <form className={styles.editor} onSubmit={(event) => void submit(event)} noValidate>
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
        {shown.length === 0 && <p className={styles.muted}>Every text is translated and up to date.</p>}
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
                value={fields[text.path] ?? ''}
                onChange={(value) => edit({ [text.path]: value })}
                state={changes[text.path] !== undefined ? 'changed' : stale.has(text.path) ? 'stale' : undefined}
                isReadOnly={isReadOnly}
                error={errorOf(text.path)}
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
              .filter(({ path }) => Object.hasOwn(draft.conflicts, path))
              .map(({ path, part }) => ({
                field: path,
                name: `${title}, ${part}`,
                mine: changes[path] || 'nothing',
                theirs: draft.conflicts[path] ?? 'nothing',
              })),
          )}
          onResolve={draft.resolve}
        />
        {problem !== undefined && <FormError>{problem}</FormError>}
        {isChanged && (
          <div className={styles.actions}>
            <span className={styles.muted}>Not saved yet</span>
            <Button onPress={reset}>Discard</Button>
            <Button type="submit" look="primary" isPending={isPending}>
              Save
            </Button>
          </div>
        )}
      </form>
    </Card>
  );
}
