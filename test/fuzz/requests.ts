import type { Chance } from './chance.ts';
import { anyJson, hostileText, spoil, spoilText } from './hostile.ts';
import { type KnownIds, kindOfId } from './ids.ts';
import type { Sampler, Schema } from './sample.ts';

export interface FuzzRequest {
  /** `METHOD /template` of the route that is meant; undefined where the path or method was spoiled. */
  route: string | undefined;
  method: string;
  path: string;
  headers: [string, string][];
  body: Buffer | undefined;
  /** The bytes on the wire are not one whole request: any answer, or none, is right as long as the service lives. */
  isBroken: boolean;
}

const longestHead = 14_000;
const methodsOfParser = new Set(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']);

/**
 * The server's parser knows nine methods, visible ASCII in paths and heads up to a size; it closes on everything else
 * or waits for more.
 */
export function isBeyondParser({ method, path, headers }: FuzzRequest): boolean {
  const head = path.length + headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  return (
    head > longestHead ||
    !path.startsWith('/') ||
    /[\x00-\x20\x7f-\xff]/.test(path) ||
    !methodsOfParser.has(method) ||
    headers.some(([name]) => !/^[A-Za-z][\w-]*$/.test(name))
  );
}

export interface Operation {
  method: string;
  /** As in the document, below `prefix`. */
  path: string;
  prefix: string;
  parameters: { name: string; in: string; schema: Schema; required?: boolean }[];
  body: Schema | undefined;
  takesStream: boolean;
}

export interface RequestMakerDeps {
  chance: Chance;
  ids: KnownIds;
  sampler: Sampler;
  operations: readonly Operation[];
  /** Bodies that the schema alone would not hit upon, by `METHOD /template`. */
  goodBodies: Readonly<Record<string, () => unknown>>;
  /** Values of the Authorization header, good ones and bad ones. */
  credentials: () => readonly (readonly [number, string | undefined])[];
}

/** All operations of the service's document but the upgrade to a WebSocket, which is no route. */
export function operationsOf(document: Schema): Operation[] {
  return Object.entries<Schema>(document['paths']).flatMap(([path, item]) =>
    Object.entries<Schema>(item)
      .filter(([key, operation]) => key !== 'servers' && !('101' in operation.responses))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        prefix: item['servers'] ? '' : '/api/v1',
        parameters: operation['parameters'] ?? [],
        body: operation['requestBody']?.content?.['application/json']?.schema,
        takesStream: operation['requestBody']?.content?.['*/*'] !== undefined,
      })),
  );
}

/** Expensive requests, and those that change the state for later ones, are rarer. */
const seldom: Readonly<Record<string, number>> = {
  'POST /auth/login': 0.15,
  'POST /auth/password': 0.1,
  'POST /users': 0.2,
  'PUT /users/{id}': 0.2,
  'PUT /surveys/{id}': 0.4,
  'POST /exports/surveys/{surveyId}': 0.1,
  'GET /surveys/{id}/live': 0.3,
};
const often: Readonly<Record<string, number>> = {
  'POST /responses/surveys/{surveyId}/submit': 6,
  'POST /surveys/{surveyId}/questions': 2,
  'POST /analytics/surveys/{surveyId}/crosstab': 2,
};

/** Makes requests around what the document allows: some as it says, most of them spoiled somewhere. */
export function createRequestMaker(deps: RequestMakerDeps): () => FuzzRequest {
  const { chance, operations } = deps;
  const weighted = operations.map((operation) => {
    const name = `${operation.method} ${operation.path}`;
    return [seldom[name] ?? often[name] ?? (operation.method === 'DELETE' ? 0.15 : 1), operation] as const;
  });
  return () => {
    const operation = chance.weighted(weighted);
    const { path, isSpoiled } = pathOf(deps, operation);
    const isOtherMethod = chance.is(0.03);
    const method = isOtherMethod
      ? chance.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'LOCK', 'get', 'QUERY'])
      : operation.method;
    const body = bodyOf(deps, operation);
    const headers = headersOf(deps, operation, body);
    const request: FuzzRequest = {
      route: isSpoiled || isOtherMethod ? undefined : `${operation.method} ${operation.path}`,
      method,
      path: path + queryOf(deps, operation),
      headers,
      body,
      isBroken: false,
    };
    return chance.is(0.01) ? broken(chance, request) : request;
  };
}

function pathOf({ chance, ids }: RequestMakerDeps, { path, prefix }: Operation): { path: string; isSpoiled: boolean } {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (chance.is(0.07)) return encodeURIComponent(wellFormed(hostileText(chance))).slice(0, 5000);
    if (name === 'language') return chance.pick(['de', 'ar', 'zh-Hans', 'xx', 'EN']);
    if (name === 'provider') return chance.pick(['openai', 'anthropic', 'gemini', 'azure', 'nobody']);
    if (name === 'respondent') return chance.pick(['guest', 'Zo%C3%AB', '%20', 'nobody']);
    return ids.of(name === 'id' ? kindOfId(path) : name);
  });
  if (!chance.is(0.03)) return { path: prefix + filled, isSpoiled: false };
  const junk = chance.pick([
    '//',
    '/../',
    '/./',
    '/%2e%2e/',
    '/%00',
    '/%',
    '/%ZZ',
    '/x',
    ';a=b',
    '/\\',
    '%20',
    '/'.repeat(300),
    '/__proto__',
    '/constructor',
    'é',
  ]);
  const at = chance.below(filled.length + 1);
  return { path: prefix + filled.slice(0, at) + junk + filled.slice(at), isSpoiled: true };
}

/** encodeURIComponent throws on lone surrogates. */
const wellFormed = (text: string) => text.toWellFormed();

function queryOf({ chance, ids, sampler }: RequestMakerDeps, { parameters }: Operation): string {
  const pairs: string[] = [];
  const valueFor = (name: string, schema: Schema): string => {
    if (chance.is(0.3)) return encodeURIComponent(wellFormed(hostileText(chance))).slice(0, 3000);
    if (name === 'filter') return `${ids.of('questionId')}:${chance.pick(['yes', 'a', '', 'x:y', '9', '__proto__'])}`;
    return encodeURIComponent(wellFormed(String(sampler.of(schema, name))));
  };
  for (const { name, in: place, schema, required } of parameters)
    if (place === 'query' && (required || chance.is(0.25)))
      for (let times = chance.is(0.1) ? 2 : 1; times > 0; times -= 1) pairs.push(`${name}=${valueFor(name, schema)}`);
  if (chance.is(0.05))
    pairs.push(
      chance.pick([
        '__proto__=1',
        'a',
        '=',
        '&&',
        'page=0',
        'limit=-1',
        'limit=1e9',
        '%',
        '%E0%A4%A=1',
        'toString=x',
        'page=99999999999999999999',
        'x'.repeat(4000),
      ]),
    );
  return pairs.length > 0 ? `?${pairs.join('&')}` : '';
}

function bodyOf({ chance, sampler, goodBodies }: RequestMakerDeps, operation: Operation): Buffer | undefined {
  if (operation.takesStream)
    return chance.pick([
      Buffer.from('%PDF-1.4 nothing'),
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0]),
      Buffer.alloc(0),
      Buffer.alloc(chance.pick([1, 5000, 300_000]), 'x'),
      Buffer.from('plain text'),
    ]);
  const takesBody = operation.method === 'POST' || operation.method === 'PUT';
  if (!takesBody) return chance.is(0.03) ? Buffer.from('{"a":1}') : undefined;
  const good = () =>
    goodBodies[`${operation.method} ${operation.path}`]?.() ??
    (operation.body ? sampler.of(operation.body) : undefined);
  const text = (value: unknown) => JSON.stringify(value) ?? '';
  switch (
    chance.weighted([
      [30, 'good'],
      [40, 'spoiled'],
      [10, 'any'],
      [12, 'text'],
      [2, 'huge'],
      [3, 'empty'],
    ] as const)
  ) {
    case 'good':
      return Buffer.from(text(good()));
    case 'spoiled':
      return Buffer.from(text(spoil(chance, good() ?? {})));
    case 'any':
      return Buffer.from(text(anyJson(chance)));
    case 'text':
      return spoilText(chance, text(good() ?? {}));
    case 'huge':
      return Buffer.from(
        chance.pick([
          `{"a":"${'x'.repeat(chance.pick([262_100, 262_144, 262_145, 400_000]))}"}`,
          `[${'1,'.repeat(60_000)}1]`,
          `{"answers":[${'{},'.repeat(20_000)}{}]}`,
          '{"a":'.repeat(20_000),
        ]),
      );
    case 'empty':
      return chance.is(0.5) ? Buffer.alloc(0) : undefined;
  }
}

function headersOf(
  { chance, credentials }: RequestMakerDeps,
  operation: Operation,
  body: Buffer | undefined,
): [string, string][] {
  const headers: [string, string][] = [['Host', 'localhost']];
  const authorization = chance.weighted(credentials());
  if (authorization !== undefined) headers.push(['Authorization', authorization]);
  if (body) {
    const usual = operation.takesStream
      ? chance.pick(['image/png', 'application/pdf', 'text/plain', 'x', 'image/png; charset=é'])
      : 'application/json';
    headers.push([
      'Content-Type',
      chance.is(0.95)
        ? usual
        : chance.pick([
            'text/plain',
            'application/json; charset=utf-16',
            'multipart/form-data; boundary=x',
            '',
            'application/x-www-form-urlencoded',
            'a'.repeat(1000),
          ]),
    ]);
    headers.push(['Content-Length', String(body.length)]);
  } else if (operation.method === 'POST' || operation.method === 'PUT') headers.push(['Content-Length', '0']);
  const own = [
    ...operation.parameters.filter(({ in: place }) => place === 'header').map(({ name }) => name),
    ...extraHeaders,
  ];
  for (let more = chance.pick([0, 0, 0, 1, 2]); more > 0; more -= 1)
    headers.push([chance.pick(own), headerText(chance)]);
  return headers;
}

const extraHeaders = [
  'Idempotency-Key',
  'X-Survey-Token',
  'X-Request-Id',
  'X-Forwarded-For',
  'Forwarded',
  'X-Filename',
  'Range',
  'If-None-Match',
  'If-Modified-Since',
  'Last-Event-ID',
  'Origin',
  'Accept',
  'Accept-Encoding',
  'Accept-Language',
  'Content-Encoding',
  'Cookie',
  'X-HTTP-Method-Override',
  'Transfer',
  '__proto__',
  'Expect',
  'TE',
];

/** No line breaks and no NUL: those make another request of it, see `broken`. */
function headerText(chance: Chance): string {
  const text = chance.pick([
    hostileText(chance),
    'bytes=0-10',
    'bytes=-5',
    'bytes=9-1',
    'bytes=0-0,2-3',
    '"x"',
    '*',
    'a'.repeat(256),
    'key-1',
    'https://elsewhere.example.invalid',
    '203.0.113.9, x',
    '1-0',
    'gzip',
  ]);
  return Buffer.from(text.toWellFormed())
    .toString('latin1')
    .replace(/[\x00-\x08\x0a-\x1f\x7f]/g, '')
    .slice(0, 6000);
}

/** Not one whole request: lengths that lie, bodies that never come, headers that two readers read differently. */
function broken(chance: Chance, request: FuzzRequest): FuzzRequest {
  const headers = request.headers.map((header): [string, string] => [...header]);
  const body = request.body ?? Buffer.from('{"a":1}');
  const add = (name: string, value: string) => void headers.push([name, value]);
  switch (chance.below(8)) {
    case 0:
      add('Content-Length', String(body.length + 1));
      break;
    case 1:
      add('Transfer-Encoding', chance.pick(['chunked', 'xchunked', 'gzip, chunked', 'identity']));
      break;
    case 2:
      add('X-Long', 'x'.repeat(chance.pick([20_000, 70_000])));
      break;
    case 3:
      add('X-Line', `a\r\n${chance.pick([' folded', 'no-colon', ': empty', 'B : c'])}`);
      break;
    case 4:
      add('X-Nul', 'a\u0000b');
      break;
    case 5:
      for (let n = 0; n < 150; n += 1) add(`X-${n}`, 'x');
      break;
    case 6:
      return { ...request, headers, method: chance.pick(['G\u0000T', '', 'GET /', 'M'.repeat(500)]), isBroken: true };
    default:
      return {
        ...request,
        headers: headers.map(([name, value]): [string, string] =>
          name === 'Content-Length'
            ? [name, chance.pick(['-1', '+3', '1e3', '99999999999999999999', '0x10', ''])]
            : [name, value],
        ),
        isBroken: true,
      };
  }
  return { ...request, headers, body, isBroken: true };
}
