import { FileUp } from 'lucide-react';
import { type FormEvent, lazy, Suspense, useRef, useState } from 'react';
import type { ResponsesFile } from '../../data/responses-file.ts';
import { importSurvey } from '../../data/survey-files.ts';
import { Loading } from '../../parts/feedback.tsx';
import { FileButton } from '../../parts/file-button.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import type { NewSurveyFormProps } from './new-survey.tsx';
import { Refusal } from './refusal.tsx';
import styles from './surveys.module.css';

const NewFromResponses = lazy(async () => ({
  default: (await import('./new-from-responses.tsx')).NewFromResponses,
}));

const textEndings = /\.(csv|tsv|txt)$/i;

/** Asks for the JSON of a survey, as the list of surveys and the API give it, or for a CSV file of responses. */
export function NewFromFile({ onMade, onCancel }: NewSurveyFormProps) {
  const [file, setFile] = useState<File>();
  const [responses, setResponses] = useState<ResponsesFile>();
  const [recognised, setRecognised] = useState('');
  const [failure, setFailure] = useState<unknown>();
  const [isPending, setPending] = useState(false);
  const latest = useRef<File>(undefined);
  const choose = async (chosen: File) => {
    latest.current = chosen;
    const ifLatest = (show: () => void) => latest.current === chosen && show();
    setFile(chosen);
    setFailure(undefined);
    setResponses(undefined);
    setRecognised('');
    if (!textEndings.test(chosen.name)) return;
    try {
      const { readResponses } = await import('../../data/responses-file.ts');
      const read = await readResponses(chosen);
      ifLatest(() => setResponses(read));
    } catch (error) {
      ifLatest(() => setFailure(error));
    }
  };
  const isText = file !== undefined && textEndings.test(file.name);
  const isReading = isText && responses === undefined && failure === undefined;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!file || isText || isPending) return;
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
    <>
      <p className="muted">
        A CSV file of responses: its questions are recognised, as <code>npm run replay</code> does, which, on the
        command line, also takes Excel and SPSS files. Or a JSON file of a survey: <em>Save as a file</em> in the menu
        of a survey makes one, and so does GET /surveys/&#123;id&#125; of the API.
      </p>
      <div className={styles.file}>
        <FileButton
          accept={['.json', 'application/json', '.csv', '.tsv', '.txt', 'text/csv']}
          icon={<FileUp aria-hidden />}
          isPending={isPending}
          onFile={(chosen) => void choose(chosen)}
        >
          Choose a file
        </FileButton>
        <span role="status">
          <bdi>{file?.name}</bdi>
          {recognised && `: ${recognised}`}
        </span>
      </div>
      {file && responses ? (
        <Suspense fallback={<Loading />}>
          <NewFromResponses
            key={file.name + file.lastModified}
            file={responses}
            name={file.name.replace(textEndings, '')}
            onRecognised={setRecognised}
            isPending={isPending}
            setPending={setPending}
            onMade={onMade}
            onCancel={onCancel}
          />
        </Suspense>
      ) : (
        <Form onSubmit={submit}>
          {failure !== undefined && <Refusal error={failure} />}
          <FormActions
            action="Create"
            problem={undefined}
            isPending={isPending || isReading}
            isDisabled={file === undefined || isText}
            onCancel={onCancel}
          />
        </Form>
      )}
    </>
  );
}
