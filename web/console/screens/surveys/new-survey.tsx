import { useRouter } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { problemText } from '../../data/problems.ts';
import { createSurvey } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import styles from './surveys.module.css';

/** Asks for a title and goes to Build with the new, blank survey. */
export function NewSurvey({ onClose }: { onClose(): void }) {
  const router = useRouter();
  const [title, setTitle] = useState('');
  const [isPending, setPending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() === '') {
      setProblem('Please enter a title.');
      return;
    }
    setPending(true);
    try {
      const { id } = await createSurvey(title.trim());
      await router.navigate({ href: `/surveys/${id}/build` });
    } catch (error) {
      setProblem(problemText(error).text);
      setPending(false);
    }
  };
  return (
    <Dialog title="New survey" isOpen onClose={onClose}>
      <form className={styles.form} onSubmit={(event) => void submit(event)} noValidate>
        <TextField label="Title" value={title} onChange={setTitle} maxLength={300} autoFocus />
        {problem !== undefined && <FormError>{problem}</FormError>}
        <DialogActions>
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" look="primary" isPending={isPending}>
            Create
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
