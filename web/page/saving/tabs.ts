import type { NoticeName } from '../../../src/http/page-state.ts';
import type { DraftNews } from './kept-draft.ts';

/** What a tab tells the others with the same survey. */
export interface TabMessage {
  kind: DraftNews | 'ended';
  /** Shown at the end; undefined: how the response ended is not known there either. */
  notice?: NoticeName | undefined;
}

/** Where tabs with one draft talk. Undefined where the browser refuses it, as some do where cookies are blocked. */
export function openTabs(draftKey: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(`survey-answers:${draftKey}`);
  } catch {
    return undefined;
  }
}
