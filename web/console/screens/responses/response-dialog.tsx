import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { removedName } from '../../analytics/variables.ts';
import { useMayEditSurvey } from '../../app/survey-layout.tsx';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { deleteResponse, outcomeNames, readUpload, responseQuery, type StoredResponse } from '../../data/responses.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../parts/dialog.tsx';
import { ErrorState, Loading } from '../../parts/feedback.tsx';
import { formatDuration } from '../../parts/format.ts';
import { saveFile } from '../../parts/save-file.ts';
import { answersTo, answerText } from './answers.ts';
import type { Asked, Removed } from './removed.ts';
import styles from './responses.module.css';

interface AnswersProps {
  questions: readonly Asked[];
  response: StoredResponse;
  removed: Removed;
}

interface ResponseDialogProps extends AnswersProps {
  /** The name of its collector. */
  collector: string;
  onClose(): void;
}

const moment = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'medium' });

/** When a response was completed, unless it was submitted in one piece. */
const completionOf = ({ submittedAt, completedAt }: StoredResponse): [string, string][] =>
  completedAt === null || completedAt === submittedAt ? [] : [['Completed', moment.format(new Date(completedAt))]];

/** One response in full. */
export function ResponseDialog({ questions, response, removed, collector, onClose }: ResponseDialogProps) {
  const isEditor = useMayEditSurvey();
  const [isDeleting, setDeleting] = useState(false);
  const facts: [string, string][] = [
    ['Submitted', moment.format(new Date(response.submittedAt))],
    ...completionOf(response),
    ['Outcome', outcomeNames[response.outcome]],
    ['Version', `${response.surveyVersion}`],
    ['Language', response.language],
    ['Duration', response.durationSeconds === null ? 'Unknown' : formatDuration(response.durationSeconds)],
    ['Collector', collector],
    ['Respondent', response.respondent ?? 'Not named'],
    ...Object.entries(response.metadata),
  ];
  return (
    <Dialog title="Response" isOpen onClose={onClose} isWide>
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        ))}
      </dl>
      <Answers questions={questions} response={response} removed={removed} />
      <DialogActions>
        {isEditor && (
          <Button look="danger" onPress={() => setDeleting(true)}>
            Delete the response
          </Button>
        )}
        <Button onPress={onClose}>Close</Button>
      </DialogActions>
      <ConfirmDialog
        title="Delete the response?"
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        action="Delete for good"
        isDangerous
        onConfirm={async () => {
          await deleteResponse(response);
          toast({ text: 'The response is deleted.' });
          onClose();
        }}
      >
        No list or statistic shows it any more, and its files are deleted. This cannot be undone.
      </ConfirmDialog>
    </Dialog>
  );
}

/** The answers, question by question; of those without an answer, whether the respondent was asked. */
function Answers({ questions, response, removed }: AnswersProps) {
  const { data, error, refetch } = useQuery(responseQuery(response));
  if (!data) return error ? <ErrorState error={error} onRetry={refetch} /> : <Loading />;
  const notAsked = new Set(data.notAsked);
  return (
    <dl className={styles.answers}>
      {questionsOf(questions, data, removed).map((question) => {
        const files = question.type === 'FILE_UPLOAD' ? answersTo(question, data.answers) : [];
        const missing = notAsked.has(question.id) ? 'Not asked' : 'No answer';
        return (
          <div key={question.id}>
            <dt dir="auto">{question.text}</dt>
            {files.map(({ textValue = '' }) => (
              <dd key={textValue}>
                <Button icon={<Download aria-hidden />} onPress={() => void download(textValue)}>
                  Download the file
                </Button>
              </dd>
            ))}
            {files.length === 0 && <dd dir="auto">{answerText(question, data.answers, removed) || missing}</dd>}
          </div>
        );
      })}
    </dl>
  );
}

/** The questions of the survey, and those with an answer that were removed from it. */
function questionsOf(present: readonly Asked[], { answers }: StoredResponse, removed: Removed): Asked[] {
  const answered = [...new Set(answers.map(({ questionId }) => questionId))];
  const others = answered
    .filter((id) => present.every((question) => question.id !== id))
    .flatMap((id) => removed.questions.get(id) ?? []);
  return [...present, ...others.map((question) => ({ ...question, text: removedName(question.text) }))];
}

async function download(uploadId: string): Promise<void> {
  try {
    const { content, name } = await readUpload(uploadId);
    saveFile(content, name);
  } catch (failure) {
    toastFailure(failure);
  }
}
