import { toast } from '../../app/toasts.tsx';
import { changeSurvey, type SurveyChange } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { type FieldErrors, type Submission, useSubmit } from '../../parts/use-submit.ts';
import styles from './settings.module.css';

/** Saves the changed fields of a card and forgets its draft. */
export function useSave(surveyId: string, change: () => SurveyChange, onSaved: () => void, check?: () => FieldErrors) {
  return useSubmit(async () => {
    await changeSurvey(surveyId, change());
    onSaved();
    toast({ text: 'The settings are saved.' });
  }, check);
}

interface SaveRowProps {
  submission: Submission;
  isChanged: boolean;
  onReset(): void;
}

/** The end of a card with fields: what is wrong, and the buttons while something is changed. */
export function SaveRow({ submission: { isPending, problem }, isChanged, onReset }: SaveRowProps) {
  return (
    <>
      {problem !== undefined && <FormError>{problem}</FormError>}
      {isChanged && (
        <div className={styles.actions}>
          <span className={styles.muted}>Not saved yet</span>
          <Button onPress={onReset}>Discard</Button>
          <Button type="submit" look="primary" isPending={isPending}>
            Save
          </Button>
        </div>
      )}
    </>
  );
}
