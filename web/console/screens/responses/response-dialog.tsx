import { Download } from 'lucide-react';
import { useState } from 'react';
import { removedName } from '../../analytics/variables.ts';
import { useMayEditSurvey } from '../../app/survey-layout.tsx';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { deleteResponse, outcomeNames, readUpload, type StoredResponse } from '../../data/responses.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { readable } from '../../data/wording.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../parts/dialog.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { answersTo, answerText } from './answers.ts';
import type { Asked, Removed } from './removed.ts';
import styles from './responses.module.css';

interface ResponseDialogProps {
  survey: SurveyWithQuestions;
  response: StoredResponse;
  removed: Removed;
  onClose(): void;
}

const moment = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'medium' });

/** One response in full. */
export function ResponseDialog({ survey, response, removed, onClose }: ResponseDialogProps) {
  const isEditor = useMayEditSurvey();
  const [isDeleting, setDeleting] = useState(false);
  const facts: [string, string][] = [
    ['Submitted', moment.format(new Date(response.submittedAt))],
    ['Outcome', outcomeNames[response.outcome]],
    ['Version', `${response.surveyVersion}`],
    ['Language', response.language],
    ['Duration', response.durationSeconds === null ? 'Unknown' : `${response.durationSeconds} s`],
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
      <dl className={styles.answers}>
        {questionsOf(survey, response, removed).map((question) => (
          <div key={question.id}>
            <dt dir="auto">{readable(question.text)}</dt>
            {question.type === 'FILE_UPLOAD' ? (
              answersTo(question, response.answers).map(({ textValue = '' }) => (
                <dd key={textValue}>
                  <Button icon={<Download aria-hidden />} onPress={() => void download(textValue)}>
                    Download the file
                  </Button>
                </dd>
              ))
            ) : (
              <dd dir="auto">{answerText(question, response.answers, removed) || 'No answer'}</dd>
            )}
          </div>
        ))}
      </dl>
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

/** The questions of the survey, and those with an answer that were removed from it. */
function questionsOf(survey: SurveyWithQuestions, { answers }: StoredResponse, removed: Removed): Asked[] {
  const present = survey.questions as unknown as Asked[];
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
