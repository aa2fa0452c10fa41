import type { ComponentType } from 'preact';
import type { Entry } from '../survey/entries.ts';
import type { ShownQuestion } from '../survey/pages.ts';
import type { Words } from '../words/en.ts';

/** What a control gets. It never keeps an answer itself. */
export interface ControlProps {
  question: ShownQuestion;
  entry: Entry;
  words: Words;
  language: string;
  /** Ids of the elements that name and describe the question, for `aria-labelledby` and `aria-describedby`. */
  labelId: string;
  describedBy: string | undefined;
  /** Id of the control that the label names and errors focus. */
  controlId: string;
  isInvalid: boolean;
  change(entry: Entry): void;
  /** The respondent has left a field: what is wrong in it may be said. */
  leave(): void;
  /** What an upload needs to know. */
  upload: UploadTarget;
}

export type UploadState = 'running' | 'failed' | 'none';

export interface UploadTarget {
  surveyId: string;
  surveyToken: string | undefined;
  maxBytes: number;
  /** An upload has begun, failed, or ended otherwise; answers are not sent while it runs or has failed. */
  report(questionId: string, state: UploadState): void;
  /** In a preview a file is taken as if it had been sent. */
  isPretended?: boolean;
}

/** What the page knows of a question type. */
export interface PageType {
  Control: ComponentType<ControlProps>;
  /** The label of the question names one field; otherwise it names a group of them. */
  isField: boolean;
  /** What is wrong with an entry that is touched, in the respondent's words; undefined: the service will take it. */
  problemOf?(question: ShownQuestion, entry: Entry, words: Words, language: string): string | undefined;
  /** The entry that a text in the field makes, where that depends on the language of the page. */
  read?(text: string, language: string): Entry;
  /**
   * An entry that was kept, with one that was made before that was shown. Without it the early one takes the place of
   * the kept one.
   */
  join?(question: ShownQuestion, kept: Entry, early: Entry): Entry;
  /**
   * What is missing from an entry that is not whole: one that is touched where the question must be answered, or one
   * with something in its field.
   */
  missingPart?(question: ShownQuestion, entry: Entry, words: Words): string | undefined;
  /** A line below the question, before anything is entered. */
  hint?(question: ShownQuestion, words: Words, language: string, maxUploadBytes: number): string | undefined;
  /** The control has a way of its own to take an answer back. */
  clearsItself?: boolean;
}
