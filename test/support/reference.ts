import { createOpenApi } from '../../src/http/reference/openapi.ts';
import { everyRoute } from './every-route.ts';

const { api, root: everyRoot } = await everyRoute();
// The page that shows the document is not part of what it shows.
const root = everyRoot.filter(({ tag }) => tag !== 'Reference');

/** Every route that the reference shows, and the reference of them. */
export const reference: { api: typeof api; root: typeof root; document: any } = {
  api,
  root,
  document: await createOpenApi({
    routes: api,
    rootRoutes: root,
    publicUrl: 'https://surveys.example.org',
    version: '1.2.3',
  }),
};

const { document } = reference;

/** Those of the routes; the WebSocket is none. */
export const operations: { name: string; path: string; operation: any }[] = Object.entries<any>(document.paths)
  .filter(([path]) => path !== '/live')
  .flatMap(([path, item]) =>
    Object.entries<any>(item)
      .filter(([key]) => key !== 'servers')
      .map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, operation })),
  );

/** Every object and list inside, with the path to it. */
export function* nodes(value: unknown, path: string): Generator<{ path: string; node: any }> {
  if (typeof value !== 'object' || value === null) return;
  yield { path, node: value };
  for (const [key, item] of Object.entries(value)) yield* nodes(item, `${path}/${key}`);
}

/** What a reference inside the document refers to. */
export const resolve = (ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<any>((at, key) => at?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document);
