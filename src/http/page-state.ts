import type { PathDefinition, PathItem, PathQuestion, PathSection } from '../domain/path/definition.ts';

/**
 * What the service hands over to the respondent's page (web/page), which renders it on the service and goes on with it
 * in the browser.
 */
export interface PageState {
  /** Address of the script, which changes with every build. */
  build: string;
  /** Last part of the page's address: the survey's id, or the link of a collector. */
  link: string;
  /** Language tag of the texts. */
  language: string;
  direction: 'ltr' | 'rtl';
  /** Language tags that the survey can be read in; empty where there is no survey. */
  languages: readonly string[];
  /** Query of the page's address without its language, for links that are followed before the script has come. */
  query: string;
  /** Title of the survey; null where the respondent may not know it. */
  title: string | null;
  /** Why there is nothing to answer; null: `form` is there. */
  notice: NoticeName | null;
  /** A browser may have sent this by an invitation that is used. */
  sent?: SentByInvitation | undefined;
  form: PageForm | null;
  /** Set in the preview, which gets its form from the console. */
  preview?: { maxUploadBytes: number };
}

export interface SentByInvitation {
  surveyId: string;
  /** Under which name the browser may still keep it. */
  draftKey: string;
}

/** Everything that a respondent may find instead of questions, and after them. */
export const noticeNames = [
  'unknown',
  'notOpenYet',
  'paused',
  'closed',
  'ended',
  'full',
  'private',
  'invitationNeeded',
  'wrongInvitation',
  'usedInvitation',
  'revokedInvitation',
  'expiredInvitation',
  'tooMany',
  'unavailable',
  'thanks',
  'screenedOut',
  'overQuota',
] as const;
export type NoticeName = (typeof noticeNames)[number];

export interface PageForm {
  survey: PageSurvey;
  /** The survey's own language, for conditions. */
  surveyLanguage: string;
  /** Id of the response that begins with this page; decides what is shuffled how. */
  responseId: string;
  /** The response goes on under the token of its invitation, which stands for its id. */
  isNamedByInvitation: boolean;
  /** Only named where it is not the default one. */
  collectorId: string | null;
  /** The metadata of the invitation that conditions and texts name; null without one. */
  invitation: Readonly<Record<string, string>> | null;
  metadata: Readonly<Record<string, string>>;
  /** Under which name a browser keeps the answers. Differs by survey, collector and invitation. */
  draftKey: string;
  /** Maximum bytes of any file. */
  maxUploadBytes: number;
}

/** An open survey as `GET /public/surveys/{id}` shows it. */
export interface PageSurvey extends PathDefinition {
  id: string;
  title: string;
  description: string | null;
  isAnonymous: boolean;
  version: number;
  sections: readonly (PathSection & { title: string; description: string | null })[];
  questions: readonly PageQuestion[];
  appearance: PageAppearance;
}

export interface PageQuestion extends PathQuestion {
  text: string;
  description: string | null;
  options: readonly (PathItem & { text: string })[];
  /** The kinds of files that a FILE_UPLOAD takes, where it names some. */
  fileKinds?: string | undefined;
}

export interface PageAppearance {
  pageMode: 'SECTION' | 'QUESTION';
  closingText: string | null;
  redirectUrl: string | null;
  logo: { url: string; width: number; height: number } | null;
}
