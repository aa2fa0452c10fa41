import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SavingStatus, Session } from '../survey/session.ts';
import { useIsReady } from '../use-is-ready.ts';
import type { Words } from '../words/en.ts';
import { say } from '../words/say.ts';
import { focusDrawn } from './focus-drawn.ts';
import { Question } from './question.tsx';

interface FormProps {
  session: Session;
  surveyToken: string | undefined;
  /** Loads the page again where its script did not come. */
  again: string;
}

/** Within this time the second click of a double-click follows the one that led to a page. */
const doubleClickMs = 500;

/** One page of questions, with the way back and forth. */
export function Form({ session, surveyToken, again }: FormProps) {
  const { words, form } = session.options;
  const { shown, page, pageIndex, isLastPage, errors, failedAttempts } = session;
  const top = useRef<HTMLElement>(null);
  const key = page?.key;
  const shownKey = useRef(key);
  const drawn = useRef({ key, at: 0 });
  if (drawn.current.key !== key) drawn.current = { key, at: performance.now() };
  // At once, not after the next frame: on a slow device the respondent may be typing by then.
  useLayoutEffect(() => {
    if (failedAttempts > 0) firstInvalid(top.current)?.focus();
  }, [failedAttempts]);
  useLayoutEffect(() => {
    if (shownKey.current === key) return;
    shownKey.current = key;
    if (Object.keys(session.errors).length > 0 || session.options.preview === 'edited') return;
    scrollTo(0, 0);
    const start = top.current?.querySelector<HTMLElement>(startOf(session));
    if (!start) return;
    start.tabIndex = -1;
    start.focus({ preventScroll: true });
  }, [key, session]);
  const percent = Math.round(shown.progress * 100);
  const isMarked = page?.questions.some(({ id }) => errors[id] !== undefined) === true;
  const marked = page?.questions.find(({ id }) => id === session.lastMarked);
  const hasProgress = shown.pages.length > 1;
  if (session.isFinishing) return <Sending status={session.status} words={words} isKept={session.isKept} />;
  return (
    <main ref={top}>
      {hasProgress && (
        <progress class="progress" max={100} value={percent} aria-label={say(words.progress, { n: percent })} />
      )}
      <h1 class={pageIndex === 0 ? 'title' : 'title title-small'} dir="auto">
        {shown.title}
      </h1>
      {pageIndex === 0 && shown.description && (
        <p class="lead" dir="auto">
          {shown.description}
        </p>
      )}
      <form
        noValidate
        key={key}
        onClickCapture={(event) => {
          // The second click of a double-click was meant for the page before, however long this one took to be drawn.
          if (event.detail < 2 || event.timeStamp - drawn.current.at > doubleClickMs) return;
          event.preventDefault();
          event.stopPropagation();
        }}
        onSubmit={(event) => {
          event.preventDefault();
          session.forward(halfFilledIn(event.currentTarget));
        }}
      >
        {page?.title && (
          <h2 class="section-title" dir="auto">
            {page.title}
          </h2>
        )}
        {page?.description && (
          <p class="section-text" dir="auto">
            {page.description}
          </p>
        )}
        <p class="errors" role="alert">
          {isMarked && failedAttempts > 0 ? words.errors : ''}
        </p>
        <div class="hidden" role="status">
          {marked && errors[marked.id] && (
            <>
              <p dir="auto">{marked.text}</p>
              <p>{errors[marked.id]}</p>
            </>
          )}
        </div>
        {page?.questions.map((question) => (
          <Question
            key={question.id}
            question={question}
            entry={session.entryOf(question.id)}
            error={errors[question.id]}
            session={session}
            upload={{
              surveyId: form.survey.id,
              surveyToken,
              maxBytes: form.maxUploadBytes,
              report: session.reportUpload,
              isPretended: session.options.preview !== undefined,
            }}
          />
        ))}
        <div class="actions">
          {pageIndex > 0 && (
            <button type="button" class="button" onClick={() => session.backward()}>
              {words.back}
            </button>
          )}
          <Forward text={isLastPage ? words.send : words.next} words={words} again={again} />
          <Status status={session.status} words={words} isKept={session.isKept} />
        </div>
      </form>
    </main>
  );
}

/**
 * A selector of what gets the focus on a new page, so that screen readers read it: on the first page the title of the
 * survey, on others what comes first of a new section, or else the question. The pages of one section share its title.
 */
function startOf({ shown, page, pageIndex }: Session): string {
  if (pageIndex === 0) return 'h1';
  const isNewSection = shown.pages[pageIndex - 1]?.title !== page?.title;
  return `${isNewSection ? 'h2, ' : ''}.section-text, .question-text`;
}

/** Goes on, or sends. A press that comes before the script does nothing, so the button takes none until then. */
function Forward({ text, words, again }: { text: string; words: Words; again: string }) {
  const isReady = useIsReady();
  return (
    <>
      <button type="submit" class="button button-primary" disabled={!isReady}>
        {text}
      </button>
      {!isReady && (
        <p class="loading muted">
          {words.loading}{' '}
          <a class="load-again" href={again}>
            {words.retry}
          </a>
        </p>
      )}
    </>
  );
}

/** Questions with a field that holds something of which the browser makes no value, such as half a date. */
const halfFilledIn = ({ elements }: HTMLFormElement): string[] =>
  [...elements].flatMap((field) => (field instanceof HTMLInputElement && field.validity.badInput ? [field.name] : []));

/** The first control of the first question with an error, or of the part of it that the error concerns. */
function firstInvalid(root: HTMLElement | null): HTMLElement | null | undefined {
  const question = root?.querySelector('[data-error]');
  return (question?.querySelector('[data-faulty]') ?? question)?.querySelector<HTMLElement>(
    'input:checked, input, select, textarea, button.unranked-item, button',
  );
}

const statusText = (status: SavingStatus, words: Words): string => (status === 'none' ? '' : words[status]);

const isTrouble = (status: SavingStatus): boolean => status === 'offline' || status === 'busy';

/** Where the answers are. Only trouble is read out. */
function Status({ status, words, isKept }: { status: SavingStatus; words: Words; isKept: boolean }) {
  const text = statusText(status, words);
  return (
    <>
      <p class="status" data-status={status}>
        {isTrouble(status) ? '' : text}
      </p>
      <p class={isTrouble(status) || !isKept ? 'banner' : 'hidden'} role="status">
        {isKept ? (isTrouble(status) ? text : '') : words.notKept}
      </p>
    </>
  );
}

function Sending({ status, words, isKept }: { status: SavingStatus; words: Words; isKept: boolean }) {
  const [isDrawn, setDrawn] = useState(false);
  // A region that comes with its words is not read out, nor is what changes in one that is busy.
  useEffect(() => setDrawn(true), []);
  // Its words say that the answers are kept.
  const isShown = isDrawn && isTrouble(status) && isKept;
  return (
    <main class="notice">
      {/* The button that was pressed is gone. */}
      <h1 class="title" tabIndex={-1} ref={focusDrawn}>
        {words.sendingTitle}
      </h1>
      <p class="lead">{isKept ? words.sendingText : words.notKept}</p>
      <p class={isShown ? 'banner' : 'hidden'} role="status">
        {isShown ? statusText(status, words) : ''}
      </p>
    </main>
  );
}
