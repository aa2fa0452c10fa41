import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { duplicateSurvey, surveyListQuery } from '../../data/surveys.ts';
import { ComboBox } from '../../parts/choice-fields.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import type { NewSurveyFormProps } from './new-survey.tsx';

const searchPauseMs = 250;

/** Asks which survey is copied. */
export function NewFromCopy({ onMade, onCancel }: NewSurveyFormProps) {
  const [source, setSource] = useState<{ value: string; label: string }>();
  const [typed, setTyped] = useState('');
  const [title, setTitle] = useState('');
  const search = usePaused(typed.trim());
  const { data } = useQuery(surveyListQuery({ page: 1, limit: 50, sort: '-createdAt', search: search || undefined }));
  const found = (data?.items ?? []).map((survey) => ({ value: survey.id, label: survey.title }));
  const options = source && !found.some(({ value }) => value === source.value) ? [source, ...found] : found;
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => source && onMade(await duplicateSurvey(source.value, title.trim() || undefined)),
    () => ({ source: source ? undefined : 'Please choose a survey.' }),
  );
  return (
    <Form onSubmit={submit}>
      <ComboBox
        label="Survey"
        options={options}
        value={source?.value ?? null}
        onChange={(id) => setSource(options.find(({ value }) => value === id))}
        onInputChange={setTyped}
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
        {...(source && { placeholder: `${source.label} (copy)` })}
      />
      <FormActions action="Copy" problem={problem} isPending={isPending} onCancel={onCancel} />
    </Form>
  );
}

/** The value after a pause without changes. */
function usePaused(value: string): string {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), searchPauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}
