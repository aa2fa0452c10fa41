import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { directionOf } from '../../../../src/domain/translation/languages.ts';
import { translationQuery } from '../../data/translations.ts';
import { Button } from '../../parts/button.tsx';
import { Checkbox, Select } from '../../parts/choice-fields.tsx';
import { ConflictPanel, ProblemPanel } from '../../parts/conflict.tsx';
import { ErrorState, FormError, Loading, StaleNote } from '../../parts/feedback.tsx';
import { Card } from '../../parts/page.tsx';
import styles from './languages.module.css';
import { TextRow } from './text-row.tsx';
import { type TextGroup, type TranslatedText, translatedTexts } from './texts.ts';
import { useTranslationForm } from './use-translation-form.ts';

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
  const form = useTranslationForm({ surveyId, language, isNew, groups, onSaved: () => listAnew() });
  const { translation, stored, fields, changes, deleted, error } = form;
  const second = others.find((other) => other === beside);
  const { data: secondData } = useQuery({
    ...translationQuery(surveyId, second ?? ''),
    enabled: second !== undefined,
  });
  const stale = new Set(translation?.stale);
  const isOpen = (path: string) => fields[path]?.text === '' || stale.has(path) || changes[path] !== undefined;
  const paths = groups.flatMap(({ texts }) => texts.map(({ path }) => path));
  const [listed, listAnew] = useListed(show === 'open', form.isRead ? paths.filter(isOpen) : []);
  if (!form.isRead) return error ? <ErrorState error={error} onRetry={form.refetch} /> : <Loading lines={6} />;

  const secondTexts = second === undefined ? undefined : translatedTexts(secondData);
  const shown = groups
    .map((group) => ({
      ...group,
      texts: show === 'open' ? group.texts.filter(({ path }) => listed.has(path)) : group.texts,
    }))
    .filter(({ texts }) => texts.length > 0);
  const name = languageName(language);
  return (
    <Card title={`${languageName(own)} and ${name}`}>
      <form className={styles.editor} onSubmit={(event) => void form.submit(event)} noValidate>
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
                onChange={(value) => form.type(text, value)}
                state={changes[text.path] !== undefined ? 'changed' : stale.has(text.path) ? 'stale' : undefined}
                isReadOnly={isReadOnly}
                error={form.errorOf(text.path)}
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
              .filter(({ path }) => path in form.conflicts)
              .map(({ path, part }) => ({
                field: path,
                name: `${title}, ${part}`,
                mine: sideOf(changes[path], stored[path]),
                theirs: sideOf(stored[path], changes[path]),
              })),
          )}
          onResolve={form.decide}
        />
        {deleted.length > 0 && (
          <ProblemPanel label="Deleted meanwhile">
            <h3>What you have translated is not in the survey any more</h3>
            {deleted.map(([path, { text, original }]) => (
              <div key={path}>
                <h4 dir="auto">{original}</h4>
                <p dir="auto">{text}</p>
                <Button onPress={() => form.discard(path)}>Discard</Button>
              </div>
            ))}
          </ProblemPanel>
        )}
        {form.problem !== undefined && <FormError>{form.problem}</FormError>}
        {form.isChanged && (
          <div className={styles.actions}>
            <span className="muted">Not saved yet</span>
            <Button onPress={form.reset} isPending={form.isResetting} isDisabled={form.isPending}>
              Discard
            </Button>
            <Button type="submit" look="primary" isPending={form.isPending}>
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

/** One side of a conflict, with its wording where that of the other is another one. */
function sideOf(side: TranslatedText | undefined, other: TranslatedText | undefined): string {
  const text = side?.text || 'nothing';
  return side?.original === other?.original ? text : `${text} (for “${side?.original}”)`;
}
