import type { Method, Route } from './route.ts';

export interface RouteMatch {
  route: Route;
  params: Record<string, string>;
}

interface TrieNode {
  fixed: Map<string, TrieNode>;
  variable: TrieNode | undefined;
  /** Whether the parameter that leads here may be one that is no text. */
  takesRubbish: boolean;
  routes: Map<Method, { route: Route; names: string[] }>;
}

const emptyTrieNode = (): TrieNode => ({
  fixed: new Map(),
  variable: undefined,
  takesRubbish: false,
  routes: new Map(),
});

/** Looks routes up by method and path; fixed segments win over parameters. Why not a library: docs/decisions/035. */
export function createRouteTable(routes: readonly Route[]) {
  const root = emptyTrieNode();
  for (const entry of routes) insertRoute(root, entry);
  return {
    routes,
    /** The route and its percent-decoded parameters, or undefined when no path and method fit. */
    match(method: Method, path: string): RouteMatch | undefined {
      const segments = path.split('/');
      const values: string[] = [];
      const node = findNode(root, segments, 1, values, method);
      const found = node?.routes.get(method);
      if (!found) return undefined;
      const params: Record<string, string> = {};
      for (const [index, name] of found.names.entries()) params[name] = values[index] ?? '';
      return { route: found.route, params };
    },
  };
}

export type RouteTable = ReturnType<typeof createRouteTable>;

function insertRoute(root: TrieNode, entry: Route): void {
  let node = root;
  const names: string[] = [];
  for (const segment of entry.path.split('/').slice(1)) {
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name !== undefined) {
      names.push(name);
      node.variable ??= emptyTrieNode();
      node = node.variable;
      node.takesRubbish ||= entry.takesRubbish === true;
    } else {
      const next = node.fixed.get(segment) ?? emptyTrieNode();
      node.fixed.set(segment, next);
      node = next;
    }
  }
  if (node.routes.has(entry.method)) throw new Error(`two routes for ${entry.method} ${entry.path}`);
  node.routes.set(entry.method, { route: entry, names });
}

function findNode(
  node: TrieNode,
  segments: string[],
  at: number,
  values: string[],
  method: Method,
): TrieNode | undefined {
  if (at === segments.length) return node.routes.has(method) ? node : undefined;
  const segment = segments[at] ?? '';
  const fixed = node.fixed.get(segment);
  if (fixed) {
    const found = findNode(fixed, segments, at + 1, values, method);
    if (found) return found;
  }
  if (!node.variable || segment === '') return undefined;
  const depth = values.length;
  const decoded = decodeSegment(segment, node.variable);
  if (decoded === undefined) return undefined;
  values.push(decoded);
  const found = findNode(node.variable, segments, at + 1, values, method);
  if (!found) values.length = depth;
  return found;
}

function decodeSegment(segment: string, { takesRubbish }: TrieNode): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    const decoded = decodeURIComponent(segment);
    return takesRubbish && decoded.includes('\0') ? segment : decoded;
  } catch {
    return takesRubbish ? segment : undefined;
  }
}
