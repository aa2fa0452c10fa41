import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { useIsShown } from '../../app/use-is-shown.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { type Option, RadioGroup } from '../../parts/choice-fields.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { NewBlank } from './new-blank.tsx';
import { NewFromCopy } from './new-from-copy.tsx';
import { NewFromFile } from './new-from-file.tsx';
import styles from './surveys.module.css';

type Origin = 'blank' | 'ai' | 'copy' | 'file';
const origins: Option<Origin>[] = [
  { value: 'blank', label: 'Blank' },
  { value: 'ai', label: 'With AI' },
  { value: 'copy', label: 'From a copy' },
  { value: 'file', label: 'From a file' },
];

/** How the forms of a new survey end. */
export interface NewSurveyFormProps {
  /** Leads into the survey. */
  onMade(survey: SurveyWithQuestions): unknown;
  onCancel(): void;
}

/** Makes a survey in one of four ways, and goes to Build with it. */
export function NewSurvey({ onClose }: { onClose(): void }) {
  const router = useRouter();
  const isShown = useIsShown();
  const [origin, setOrigin] = useState<Origin>('blank');
  const form: NewSurveyFormProps = {
    onMade: ({ id }) => isShown() && router.navigate({ href: `/surveys/${id}/build` }),
    onCancel: onClose,
  };
  return (
    <Dialog title="New survey" isOpen onClose={onClose} isWide={origin === 'file'}>
      <div className={styles.form}>
        <RadioGroup<Origin> label="Begin" options={origins} value={origin} onChange={setOrigin} isAcross />
        {origin === 'blank' && <NewBlank {...form} />}
        {origin === 'copy' && <NewFromCopy {...form} />}
        {origin === 'file' && <NewFromFile {...form} />}
        {origin === 'ai' && (
          <>
            <p className="muted">
              Say what the survey is for and whom it asks. An AI provider writes a draft, changes it as you say, and you
              take all of it or single questions.
            </p>
            <DialogActions>
              <Button onPress={onClose}>Cancel</Button>
              <Button look="primary" onPress={() => void router.navigate({ to: '/surveys/new' })}>
                Continue
              </Button>
            </DialogActions>
          </>
        )}
      </div>
    </Dialog>
  );
}
