import { oneOf, positive, text } from '../../app/search.ts';
import { sentiments } from '../../data/open-answers.ts';

/** What the address of the open answers names. */
export function textsSearch(search: Record<string, unknown>) {
  return {
    /** The id of the open question; the first one if undefined. */
    question: text(search['question']),
    search: text(search['search']),
    sentiment: oneOf(sentiments, search['sentiment']),
    theme: text(search['theme']),
    page: positive(search['page']),
  };
}

export type TextsSearch = { [Name in keyof ReturnType<typeof textsSearch>]?: ReturnType<typeof textsSearch>[Name] };
