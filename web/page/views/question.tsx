import type { UploadTarget } from '../questions/contract.ts';
import { idList } from '../questions/id-list.ts';
import { useKeptFocus } from '../questions/kept-focus.ts';
import { pageTypeOf } from '../questions/registry.ts';
import { type Entry, isTouched } from '../survey/entries.ts';
import type { ShownQuestion } from '../survey/pages.ts';
import type { Session } from '../survey/session.ts';
import { afterPress } from './after-press.ts';

interface QuestionProps {
  question: ShownQuestion;
  entry: Entry;
  error: string | undefined;
  session: Session;
  upload: UploadTarget;
}

/** A question with its text, hint, control and error. */
export function Question({ question, entry, error, session, upload }: QuestionProps) {
  const { words, language } = session.options;
  const { Control, isField, hint, clearsItself } = pageTypeOf(question.type);
  const id = `q-${question.id}`;
  const ids = { label: `${id}-label`, hint: `${id}-hint`, error: `${id}-error`, control: `${id}-control` };
  useKeptFocus(question.id, () => document.getElementById(ids.control));
  const hintText = hint?.(question, words, language, upload.maxBytes);
  const hasHint = question.description !== null || hintText !== undefined;
  const describedBy = idList(hasHint && ids.hint, error && ids.error);
  const label = (
    <>
      <span dir="auto">{question.text}</span>
      {question.isRequired && (
        <span class="required">
          <span aria-hidden="true"> *</span>
          <span class="hidden"> ({words.required})</span>
        </span>
      )}
    </>
  );
  return (
    <div
      class="question"
      id={id}
      data-type={question.type}
      data-error={error ? '' : undefined}
      {...(!isField && { role: 'group', 'aria-labelledby': ids.label, 'aria-describedby': describedBy })}
    >
      {isField ? (
        <label class="question-text" id={ids.label} for={ids.control}>
          {label}
        </label>
      ) : (
        <div class="question-text" id={ids.label}>
          {label}
        </div>
      )}
      {hasHint && (
        <div class="hint" id={ids.hint}>
          {question.description && <p dir="auto">{question.description}</p>}
          {hintText && <p>{hintText}</p>}
        </div>
      )}
      <Control
        question={question}
        entry={entry}
        words={words}
        language={language}
        labelId={ids.label}
        describedBy={describedBy}
        controlId={ids.control}
        isInvalid={error !== undefined}
        change={(changed) => session.change(question.id, changed)}
        leave={() => afterPress(() => session.leave(question.id))}
        upload={upload}
      />
      {!clearsItself && !question.isRequired && (isTouched(entry) || entry.raw !== undefined) && (
        <button type="button" class="link" onClick={() => session.change(question.id, { answers: [] })}>
          {words.clear}
        </button>
      )}
      {error && (
        <p class="error" id={ids.error}>
          {error}
        </p>
      )}
    </div>
  );
}
