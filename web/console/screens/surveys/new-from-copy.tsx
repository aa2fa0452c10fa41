import { useState } from 'react';
import { useSurveyOptions } from '../../data/name-options.ts';
import { duplicateSurvey } from '../../data/surveys.ts';
import { ComboBox } from '../../parts/choice-fields.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import type { NewSurveyFormProps } from './new-survey.tsx';

/** Asks which survey is copied. */
export function NewFromCopy({ onMade, onCancel }: NewSurveyFormProps) {
  const [source, setSource] = useState<string | null>(null);
  const [title, setTitle] = useState('');
  const surveys = useSurveyOptions(source);
  const sourceTitle = surveys.options.find(({ value }) => value === source)?.label;
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => source !== null && onMade(await duplicateSurvey(source, title.trim() || undefined)),
    () => ({ source: source === null ? 'Please choose a survey.' : undefined }),
  );
  return (
    <Form onSubmit={submit}>
      <ComboBox
        label="Survey"
        {...surveys}
        value={source}
        onChange={setSource}
        placeholder="Type a part of its title"
        error={errorOf('source')}
        hint="Questions, languages and settings are copied; responses are not."
      />
      <TextField
        label="Title of the copy"
        value={title}
        onChange={setTitle}
        maxLength={300}
        error={errorOf('title')}
        placeholder={sourceTitle === undefined ? undefined : `${sourceTitle} (copy)`}
      />
      <FormActions action="Copy" problem={problem} isPending={isPending} onCancel={onCancel} />
    </Form>
  );
}
