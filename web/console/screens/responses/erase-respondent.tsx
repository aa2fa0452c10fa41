import { useState } from 'react';
import { toast } from '../../app/toasts.tsx';
import { eraseRespondent } from '../../data/responses.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';

/** Erases everything that one respondent has sent to the survey. */
export function EraseRespondent({ surveyId, onClose }: { surveyId: string; onClose(): void }) {
  const [respondent, setRespondent] = useState('');
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      const erased = await eraseRespondent(surveyId, respondent);
      toast({ text: erased === 1 ? '1 response is erased.' : `${erased} responses are erased.` });
      onClose();
    },
    () => ({ respondent: respondent.trim() === '' ? 'Please enter the respondent.' : undefined }),
  );
  return (
    <Dialog title="Erase a respondent" isOpen onClose={onClose} role="alertdialog">
      <Form onSubmit={submit}>
        <p>Responses with their files are deleted for good, and export files that may show them expire.</p>
        <TextField
          label="Respondent"
          value={respondent}
          onChange={setRespondent}
          maxLength={200}
          error={errorOf('respondent')}
          hint="Exactly as responses or invitations name them."
          autoFocus
        />
        <FormActions action="Erase" problem={problem} isPending={isPending} isDangerous onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
