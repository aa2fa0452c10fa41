import { z } from 'zod';
import { directionOf, translationLanguages } from '../../domain/translation/languages.ts';
import { chooseLanguage } from '../../domain/translation/translation.ts';
import type { PageDocument } from '../page-document.ts';
import { type Route, route } from '../routing/route.ts';

export interface PreviewPageDeps {
  document: PageDocument;
  maxUploadBytes: number;
}

const query = z.looseObject({ lang: z.string().max(35).optional().catch(undefined) });

/**
 * GET /s/preview: the respondent's page without a survey. The console shows it in a frame and hands over what is being
 * edited; no other page can frame it, and its policy allows no call, so that nothing entered there is stored.
 */
export function previewPageRoute({ document, maxUploadBytes }: PreviewPageDeps): Route {
  return route({
    method: 'GET',
    path: '/s/preview',
    tag: 'Reference',
    summary: 'The page in which the console previews a survey',
    access: { kind: 'public' },
    limit: 'none',
    query,
    reply: null,
    replyMediaType: 'text/html',
    replyStatus: 200,
    handle: async ({ query: { lang }, header }) => {
      const language = chooseLanguage(lang, translationLanguages) ?? 'en';
      const state = {
        build: document.build,
        link: 'preview',
        language,
        direction: directionOf(language),
        languages: [],
        query: '',
        title: null,
        notice: null,
        form: null,
        preview: { maxUploadBytes },
      };
      return document.send(state, header('accept-encoding'), { status: 200, mayCall: false });
    },
  });
}
