import type { NoticeName } from '../../../src/http/page-state.ts';
import { outcomeOf } from '../survey/outcomes.ts';
import type { Words } from '../words/en.ts';
import { focusDrawn } from './focus-drawn.ts';

interface NoticeProps {
  name: NoticeName;
  words: Words;
  /** Title of the survey, if the respondent may know it. */
  title: string | null;
  /** The survey's own words at its end. */
  closingText: string | null;
  /** Address of this page with its tokens. Only the browser has it, where the page can be tried again. */
  addressIn: (() => string) | undefined;
  /** It stands where the respondent was answering, rather than where the page was opened. */
  isReplacing: boolean;
}

/** What stands instead of questions: the end of a response, or why there is nothing to answer. */
export function Notice({ name, words, title, closingText, addressIn, isReplacing }: NoticeProps) {
  const isEnding = outcomeOf(name) !== undefined;
  const text = name === 'thanks' && closingText ? closingText : words[`${name}Text`];
  return (
    <main class="notice" data-notice={name}>
      <span class="notice-sign" data-kind={isEnding ? 'good' : 'plain'} aria-hidden="true">
        <svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
          <path
            d={isEnding ? 'M5 13l4 4L19 7' : 'M12 6v7M12 17v.01'}
            fill="none"
            stroke="currentColor"
            stroke-width="2.5"
            stroke-linecap="round"
            stroke-linejoin="round"
          />
        </svg>
      </span>
      {title && (
        <p class="notice-survey" dir="auto">
          {title}
        </p>
      )}
      <h1 class="title" tabIndex={-1} ref={isReplacing ? focusDrawn : null}>
        {words[`${name}Title`]}
      </h1>
      <p class="lead" dir="auto">
        {text}
      </p>
      {name === 'paused' && addressIn && (
        <button type="button" class="button" onClick={() => location.replace(addressIn())}>
          {words.retry}
        </button>
      )}
    </main>
  );
}
