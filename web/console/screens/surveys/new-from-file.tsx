import { FileJson } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { problemText } from '../../data/problems.ts';
import { importSurvey } from '../../data/surveys.ts';
import { FormError } from '../../parts/feedback.tsx';
import { FileButton } from '../../parts/file-button.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import type { NewSurveyFormProps } from './new-survey.tsx';
import styles from './surveys.module.css';

/** Asks for the JSON of a survey, as the list of surveys and the API give it. */
export function NewFromFile({ onMade, onCancel }: NewSurveyFormProps) {
  const [file, setFile] = useState<File>();
  const [failure, setFailure] = useState<unknown>();
  const [isPending, setPending] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!file || isPending) return;
    setPending(true);
    setFailure(undefined);
    try {
      await onMade(await importSurvey(file));
    } catch (error) {
      setFailure(error);
    } finally {
      setPending(false);
    }
  };
  return (
    <Form onSubmit={submit}>
      <p className={styles.muted}>
        A JSON file of a survey: <em>Save as a file</em> in the menu of a survey makes one, and so does GET
        /surveys/&#123;id&#125; of the API.
      </p>
      <div className={styles.file}>
        <FileButton
          accept={['.json', 'application/json']}
          icon={<FileJson aria-hidden />}
          onFile={(chosen) => {
            setFile(chosen);
            setFailure(undefined);
          }}
        >
          Choose a file
        </FileButton>
        <span dir="auto">{file?.name}</span>
      </div>
      {failure !== undefined && <Refusal error={failure} />}
      <FormActions
        action="Create"
        problem={undefined}
        isPending={isPending}
        isDisabled={file === undefined}
        onCancel={onCancel}
      />
    </Form>
  );
}

/** Why the file was not taken, with every place that is wrong. */
function Refusal({ error }: { error: unknown }) {
  const { text, details } = problemText(error);
  return (
    <>
      <FormError>{text}</FormError>
      {details.length > 1 && (
        <ul className={styles.issues} aria-label="What is wrong">
          {details.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
