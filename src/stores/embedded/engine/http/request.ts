import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import { engineError } from '../exception.ts';

/** A parsed request of ClickHouse's HTTP interface. */
export interface EngineRequest {
  /** The query text of the URL or form; may be empty. */
  head: Buffer;
  /** The rest of the query, followed by the data of an INSERT. */
  body: Buffer;
  queryId: string | undefined;
  database: string | undefined;
  defaultFormat: string | undefined;
  /** Whether to send the reply only after the query has ended, so that an error has its status. */
  waitsForEnd: boolean;
  acceptsGzip: boolean;
  settings: Map<string, string>;
  parameters: Map<string, string>;
}

/** Maximum size of an insert, which is held in memory. */
const bodyLimitBytes = 512 * 1024 * 1024;

/** Parameters of the interface; all others are settings of the query. */
const interfaceNames = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'wait_end_of_query',
  'enable_http_compression',
  'http_zlib_compression_level',
  'user',
  'password',
  'role',
  'quota_key',
  'buffer_size',
  'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
  'send_timeout',
  'receive_timeout',
  'cancel_http_readonly_queries_on_client_close',
]);
const refusedNames = new Set(['session_id', 'compress', 'decompress', 'stacktrace']);

export async function readRequest(request: IncomingMessage, url: URL): Promise<EngineRequest> {
  const body = await readBody(request);
  const form = readMultipart(request.headers['content-type'], body);
  const fields = [...url.searchParams, ...[...(form ?? [])].filter(([name]) => name !== 'query')];
  const query = [url.searchParams.get('query'), form?.get('query')]
    .filter((part) => part !== null && part !== undefined && part !== '')
    .join('\n');
  const field = (name: string) => url.searchParams.get(name) ?? undefined;
  return {
    head: Buffer.from(query),
    body: form ? Buffer.alloc(0) : body,
    queryId: field('query_id'),
    database: field('database') ?? headerOf(request, 'x-clickhouse-database'),
    defaultFormat: field('default_format') ?? headerOf(request, 'x-clickhouse-format'),
    waitsForEnd: field('wait_end_of_query') === '1',
    acceptsGzip:
      field('enable_http_compression') === '1' && (headerOf(request, 'accept-encoding') ?? '').includes('gzip'),
    ...settingsAndParameters(fields),
  };
}

/** The query text followed by the body. */
export function wholeText({ head, body }: Pick<EngineRequest, 'head' | 'body'>): Buffer {
  if (head.length === 0) return body;
  return body.length === 0 ? head : Buffer.concat([head, Buffer.from('\n'), body]);
}

function settingsAndParameters(fields: readonly (readonly [string, string])[]) {
  const settings = new Map<string, string>();
  const parameters = new Map<string, string>();
  for (const [name, value] of fields) {
    if (interfaceNames.has(name)) continue;
    if (refusedNames.has(name) && value !== '' && value !== '0')
      throw engineError(48, 'NOT_IMPLEMENTED', `The embedded server does not know ${name}`);
    if (refusedNames.has(name)) continue;
    const bare = name.startsWith('param_') ? name.slice('param_'.length) : name;
    if (!/^[A-Za-z_]\w*$/.test(bare))
      throw engineError(
        36,
        'BAD_ARGUMENTS',
        `Bad name of a setting or parameter: ${JSON.stringify(bare.slice(0, 100))}`,
      );
    (bare === name ? settings : parameters).set(bare, value);
  }
  return { settings, parameters };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw engineError(48, 'NOT_IMPLEMENTED', `Content-Encoding ${encoding} is not known, only gzip`);
  const source = encoding === 'gzip' ? request.pipe(createGunzip()) : request;
  // pipe() does not forward errors; without this the reader would wait for ever.
  if (source !== request) request.once('error', (error) => source.destroy(error));
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of source) {
    length += piece.length;
    if (length > bodyLimitBytes)
      throw engineError(307, 'TOO_MANY_BYTES', `The body is larger than ${bodyLimitBytes} bytes`);
    pieces.push(piece);
  }
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Maximum fields, more than queries have parameters. */
const maxParts = 10_000;

/**
 * The fields of a multipart/form-data body, in which the client sends large query parameters; undefined for other
 * bodies.
 */
export function readMultipart(contentType: string | undefined, body: Buffer): Map<string, string> | undefined {
  const boundary = /^multipart\/form-data;.*\bboundary="?([^";]+)"?/i.exec(contentType ?? '')?.[1];
  if (boundary === undefined) return undefined;
  const fields = new Map<string, string>();
  const mark = Buffer.from(`--${boundary}`);
  let parts = 0;
  let at = body.indexOf(mark);
  while (at !== -1) {
    parts += 1;
    if (parts > maxParts) throw engineError(36, 'BAD_ARGUMENTS', `The form has more than ${maxParts} parts`);
    const start = at + mark.length;
    const next = body.indexOf(mark, start);
    if (next === -1) break;
    readPart(body.subarray(start, next), fields);
    at = next;
  }
  return fields;
}

/** `\r\n` headers `\r\n\r\n` content `\r\n` */
function readPart(part: Buffer, fields: Map<string, string>): void {
  const headEnd = part.indexOf('\r\n\r\n');
  if (headEnd === -1) return;
  const name = /name="([^"]*)"/i.exec(part.toString('utf8', 0, headEnd))?.[1];
  if (name !== undefined) fields.set(name, part.toString('utf8', headEnd + 4, part.length - 2));
}
