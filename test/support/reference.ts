import { createOpenApi } from '../../src/http/reference/openapi.ts';
import { everyRoute } from './every-route.ts';

const { api, root: everyRoot } = await everyRoute();
// The page that shows the document is not part of what it shows.
const root = everyRoot.filter(({ tag }) => tag !== 'Reference');

/** Every route that the reference shows, and the reference of them. */
export const reference: { api: typeof api; root: typeof root; document: any } = {
  api,
  root,
  document: createOpenApi({
    routes: api,
    rootRoutes: root,
    publicUrl: 'https://surveys.example.org/',
    version: '1.2.3',
  }),
};
