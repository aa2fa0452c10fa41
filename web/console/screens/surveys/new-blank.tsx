import { useState } from 'react';
import { createSurvey } from '../../data/surveys.ts';
import { Form, FormActions } from '../../parts/form.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import type { NewSurveyFormProps } from './new-survey.tsx';

/** Asks for the title of a survey without questions. */
export function NewBlank({ onMade, onCancel }: NewSurveyFormProps) {
  const [title, setTitle] = useState('');
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => onMade(await createSurvey(title.trim())),
    () => ({ title: title.trim() === '' ? 'Please enter a title.' : undefined }),
  );
  return (
    <Form onSubmit={submit}>
      <TextField label="Title" value={title} onChange={setTitle} maxLength={300} error={errorOf('title')} autoFocus />
      <FormActions action="Create" problem={problem} isPending={isPending} onCancel={onCancel} />
    </Form>
  );
}
