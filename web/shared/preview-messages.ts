import type { PageForm } from '../../src/http/page-state.ts';

/*
 * What the console and the preview in its frame say to each other. Both lie on one origin and check it, and each takes
 * messages of the other's window only.
 */

/** What is to be seen. */
export interface PreviewShow {
  preview: 'show';
  form: Omit<PageForm, 'responseId' | 'maxUploadBytes'>;
  language: string;
  direction: 'ltr' | 'rtl';
  colors: { primaryColor: string | null; backgroundColor: string | null };
  /** The number of this attempt to walk the path; undefined: every question is shown, whatever its conditions. */
  trial: number | undefined;
}

/** The question or section that is edited. */
export interface PreviewSelect {
  preview: 'select';
  selected: string | undefined;
}

export type PreviewReply =
  /** It can be shown something. */
  | { preview: 'ready' }
  /** A question was clicked. */
  | { preview: 'question'; questionId: string }
  /** The respondent's path has ended. */
  | { preview: 'ended'; trial: number };
