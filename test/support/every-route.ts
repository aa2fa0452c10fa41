import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { Access, Route } from '../../src/http/routing/route.ts';

/** Modules whose routes lie at the root, not below the base address; of `docs`, only the document itself lies below. */
const rootMakers = new Set([
  'consoleRoutes',
  'docsRoutes',
  'embedRoute',
  'healthRoutes',
  'metricsRoute',
  'previewPageRoute',
  'respondentPageRoute',
  'webFilesRoute',
]);

/**
 * Every route that the modules of `src/http/routes` make, built without anything behind it: what they are given stands
 * still until a handler runs. A module that makes no route fails.
 */
export async function everyRoute(): Promise<{ api: Route[]; root: Route[] }> {
  const folder = new URL(`../../src/http/`, import.meta.url);
  const inRoutes = readdirSync(new URL('routes/', folder), { recursive: true }).map((name) => `routes/${String(name)}`);
  const modules = [...inRoutes.filter((name) => name.endsWith('.js')).sort(), 'submit/submit-route.js'];
  assert.ok(modules.length > 0, 'there are modules of routes');
  const found = { api: [] as Route[], root: [] as Route[] };
  for (const name of modules) {
    const exports: Record<string, unknown> = await import(new URL(name, folder).href);
    const makers = Object.entries(exports).filter(
      ([key, value]) => typeof value === 'function' && /Routes?$/.test(key),
    );
    const made = makers.flatMap(([key, make]) =>
      [(make as (...deps: unknown[]) => Route | Route[])(nothing, nothing, nothing)]
        .flat()
        .map((route) => ({ key, route })),
    );
    assert.ok(made.length > 0, `${name} makes no route: it exports no function whose name ends in Routes or Route`);
    for (const { key, route } of made) (rootMakers.has(key) ? found.root : found.api).push(route);
  }
  return found;
}

/** As in `GET /surveys/{id}`. */
export const routeName = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

export const refusesKeys = (access: Access): boolean => 'refusesKeys' in access && access.refusesKeys === true;

/** Who may call a route: its kind of access, or the right to its survey. */
export const accessWord = (access: Access): string =>
  access.kind === 'survey'
    ? `${access.right}${access.orSelf === undefined ? '' : ', or about oneself'}`
    : `${access.kind}${refusesKeys(access) ? ', without a key' : ''}`;

/** Bears every property and every call. */
const nothing: unknown = new Proxy(() => undefined, {
  get: (_target, key) =>
    key === Symbol.toPrimitive
      ? () => 1
      : key === Symbol.iterator
        ? function* () {}
        : key === 'then'
          ? undefined
          : nothing,
  apply: () => nothing,
});
