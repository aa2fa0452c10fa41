import { type FormEvent, useEffect, useMemo, useState } from 'react';
import { questionTypeTitles } from '../../data/question-types.ts';
import {
  type ChosenTypes,
  importQuestions,
  type RecognisedFile,
  type RecognisedQuestion,
  type ReplayedType,
  type ResponsesFile,
  recognise,
} from '../../data/responses-file.ts';
import { submitResponses } from '../../data/responses-import.ts';
import { Checkbox, Select } from '../../parts/choice-fields.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { ScrollArea } from '../../parts/scroll-area.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import styles from './new-from-responses.module.css';
import type { NewSurveyFormProps } from './new-survey.tsx';
import { Refusal } from './refusal.tsx';

interface NewFromResponsesProps extends NewSurveyFormProps {
  file: ResponsesFile;
  /** Of the file, without its ending. */
  name: string;
  /** Gets the numbers of rows and questions, as a sentence. */
  onRecognised(summary: string): void;
  /** While the survey is being made, no other file can be chosen. */
  isPending: boolean;
  setPending(isPending: boolean): void;
}

/** What was recognised in a file of responses: types can be changed and questions left out before a draft is made. */
export function NewFromResponses(props: NewFromResponsesProps) {
  const { file, name, onRecognised, isPending, setPending, onMade, onCancel } = props;
  const [title, setTitle] = useState(name);
  const [types, setTypes] = useState<ChosenTypes>(new Map());
  const [leftOut, setLeftOut] = useState<ReadonlySet<string>>(new Set());
  const [submits, setSubmits] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const recognised = useMemo(() => recognise(file, types), [file, types]);
  const { rowCount, questions } = recognised;
  const summary = `${rowCount} rows, ${questions.length} ${questions.length === 1 ? 'question' : 'questions'}.`;
  useEffect(() => onRecognised(summary), [onRecognised, summary]);
  const taken = questions.filter(({ key }) => !leftOut.has(key));
  const choose = (key: string, type: ReplayedType) => setTypes(new Map(types).set(key, type));
  const take = (key: string, isTaken: boolean) => {
    const next = new Set(leftOut);
    if (isTaken) next.delete(key);
    else next.add(key);
    setLeftOut(next);
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (isPending) return;
    setPending(true);
    setFailure(undefined);
    try {
      const found = taken.map((question) => question.found);
      const survey = await importQuestions(title.trim() || name, found);
      if (submits) void submitResponses(survey, recognised.source, found);
      await onMade(survey);
    } catch (error) {
      setFailure(error);
    } finally {
      setPending(false);
    }
  };
  return (
    <Form onSubmit={submit}>
      <TextField label="Title" value={title} onChange={setTitle} maxLength={200} isRequired />
      <Notes recognised={recognised} />
      <ScrollArea label="Questions of the file">
        <table className={styles.questions}>
          <caption className="visually-hidden">Questions of the file</caption>
          <thead>
            <tr>
              <th scope="col">Question</th>
              <th scope="col">Type</th>
              <th scope="col">Answers</th>
            </tr>
          </thead>
          <tbody>
            {questions.map((question) => (
              <QuestionRow
                key={question.key}
                question={question}
                isTaken={!leftOut.has(question.key)}
                onTake={(isTaken) => take(question.key, isTaken)}
                onType={(type) => choose(question.key, type)}
              />
            ))}
          </tbody>
        </table>
      </ScrollArea>
      <Checkbox isSelected={submits} onChange={setSubmits}>
        <span>
          Submit the {rowCount} rows as responses
          <span className={styles.note}>
            The survey is published for it and paused afterwards; the responses have the time at which they are sent.
            Keep this page open meanwhile.
          </span>
        </span>
      </Checkbox>
      {taken.length === 0 && <FormError>Please take at least one question.</FormError>}
      {failure !== undefined && <Refusal error={failure} />}
      <FormActions
        action="Create"
        problem={undefined}
        isPending={isPending}
        isDisabled={taken.length === 0}
        onCancel={onCancel}
      />
    </Form>
  );
}

/** What the file has beside questions, and what was changed to read it. */
function Notes({ recognised: { idColumn, timeColumn, otherColumns, remarks } }: NotesProps) {
  const notes = [
    ...(idColumn === undefined ? [] : [`“${idColumn}” says who answered, and is no question.`]),
    ...(timeColumn === undefined ? [] : [`“${timeColumn}” says when it was answered, and is no question.`]),
    ...(otherColumns.length === 0 ? [] : [`Not asked, as a survey tool wrote it: ${otherColumns.join(', ')}.`]),
    ...remarks,
  ];
  if (notes.length === 0) return null;
  return (
    <ul className={styles.notes} aria-label="What was recognised">
      {notes.map((note) => (
        <li key={note} dir="auto">
          {note}
        </li>
      ))}
    </ul>
  );
}

interface NotesProps {
  recognised: RecognisedFile;
}

interface QuestionRowProps {
  question: RecognisedQuestion;
  isTaken: boolean;
  onTake(isTaken: boolean): void;
  onType(type: ReplayedType): void;
}

const fewOptions = 6;

function QuestionRow({
  question: { found, types, answerCount, unfitCount },
  isTaken,
  onTake,
  onType,
}: QuestionRowProps) {
  const parts = found.items.length > 1 ? found.items.map(({ text }) => text) : found.options;
  return (
    <tr className={isTaken ? undefined : styles.leftOut}>
      <th scope="row">
        <Checkbox isSelected={isTaken} onChange={onTake} aria-label={`Take ${found.text}`}>
          <span dir="auto">
            {found.text}
            {parts.length > 0 && (
              <span className={styles.note}>
                {parts.slice(0, fewOptions).join(' · ')}
                {parts.length > fewOptions && ` and ${parts.length - fewOptions} more`}
              </span>
            )}
          </span>
        </Checkbox>
      </th>
      <td className={styles.type}>
        <Select
          label={`Type of ${found.text}`}
          isLabelHidden
          options={types.map((value) => ({ value, label: questionTypeTitles[value] }))}
          value={found.type}
          isDisabled={!isTaken}
          onChange={onType}
        />
      </td>
      <td>
        {answerCount}
        {unfitCount > 0 && <span className={styles.unfit}>{unfitCount} do not fit</span>}
      </td>
    </tr>
  );
}
