import type { DraftState } from '../../app/drafts.ts';
import { toast } from '../../app/toasts.tsx';
import { readSurvey } from '../../data/survey-reads.ts';
import { changeSurvey, type SurveyChange, type SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import type { Option } from '../../parts/choice-fields.tsx';
import { ConflictPanel } from '../../parts/conflict.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { type FieldErrors, type Submission, useSubmit } from '../../parts/use-submit.ts';
import styles from './settings.module.css';

/** How a card of settings reads its fields of a survey, and sends those that are changed. */
interface Saving<Fields extends object> {
  surveyId: string;
  draft: DraftState<Fields>;
  storedOf(survey: SurveyWithQuestions): Fields;
  change(): SurveyChange;
  check?: () => FieldErrors;
}

/** Saves the changed fields of a card and forgets them, unless somebody else has changed the same ones. */
export function useSave<Fields extends object>({ surveyId, draft, storedOf, change, check }: Saving<Fields>) {
  return useSubmit(async () => {
    const isSaved = await draft.save(async () => {
      if (!draft.isUnchanged(storedOf(await readSurvey(surveyId)))) return undefined;
      return storedOf(await changeSurvey(surveyId, change()));
    });
    if (isSaved) toast({ text: 'The settings are saved.' });
  }, check);
}

interface SaveRowProps<Fields extends object> {
  submission: Submission;
  draft: DraftState<Fields>;
  /** What each field is called. */
  names: Readonly<Record<keyof Fields, string>>;
  /** Options of its fields, which a conflict shows by their labels. */
  options?: readonly Option[];
}

/** The end of a card with fields: what is wrong, and the buttons while something is changed. */
export function SaveRow<Fields extends object>({ submission, draft, names, options = [] }: SaveRowProps<Fields>) {
  const { isPending, problem } = submission;
  const { changes, conflicts, isChanged, isResetting, reset, resolve } = draft;
  return (
    <>
      <ConflictPanel
        conflicts={(Object.keys(conflicts) as (keyof Fields & string)[]).map((field) => ({
          field,
          name: names[field],
          mine: valueText(changes[field], options),
          theirs: valueText(conflicts[field], options),
        }))}
        onResolve={(field, choice) => resolve(field as keyof Fields, choice)}
      />
      {problem !== undefined && <FormError>{problem}</FormError>}
      {isChanged && (
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
    </>
  );
}

function valueText(value: unknown, options: readonly Option[]): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (value === null || value === undefined || value === '') return 'nothing';
  return options.find((option) => option.value === value)?.label ?? String(value);
}
