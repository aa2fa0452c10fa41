import { useRouter } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { problemText } from '../../data/problems.ts';
import { createSurvey } from '../../data/surveys.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { FormActions } from '../../parts/form.tsx';
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
        <FormActions action="Create" problem={problem} isPending={isPending} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
