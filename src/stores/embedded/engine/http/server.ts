import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import type { Duplex, Writable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { defaultDatabase, type Engine, type QueryScope } from '../engine.ts';
import { type EngineError, engineError, statusOf, toEngineError } from '../exception.ts';
import { mediaType } from '../formats.ts';
import { atomicInsertSettings, type InsertHead, insertData, readInsertHead } from '../insert.ts';
import { runIfSmall, runQuery } from '../output.ts';
import { isShutdown, queueOf, readQuery } from '../query-text.ts';
import { type EngineRequest, readRequest, wholeText } from './request.ts';

export interface EngineServerOptions {
  engine: Engine;
  /** Password of the user `default`. */
  password: string;
  /** Name in the replies to those who have the password, by which the service knows its own server. */
  displayName: string;
  /** Directory for temporary files of results and inserts. */
  spoolDir: string;
}

/** Query texts may come in the URL, longer than Node's default of 16 KiB. */
const maxHeaderBytes = 1024 * 1024;

/** Bodies may take any time, heads may not; `requestTimeout: 0` alone would affect both. */
const timeouts = { requestTimeout: 0, headersTimeout: 60_000, keepAliveTimeout: 60_000 };

/**
 * The part of ClickHouse's HTTP interface that `@clickhouse/client` uses, over the engine of this process. Any program
 * on the machine can connect, so all errors of a request are caught here.
 */
export function createEngineServer(options: EngineServerOptions): Server {
  const isAuthorized = createAuthorizer(options.password);
  const openReplies = new WeakMap<Duplex, number>();
  const receive = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void => {
    countReply(openReplies, request.socket, response);
    response.on('error', () => {}); // the client has left
    handleRequest(options, { request, response, isAuthorized, awaitsContinue })
      .catch((error: unknown) => fail(options.engine, response, error))
      .catch(() => response.destroy());
  };
  const server = createServer({ maxHeaderSize: maxHeaderBytes, ...timeouts });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => receive(request, response, false));
  // Without it, Node would send 100 Continue even to callers without the password.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => receive(request, response, true));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    rejectMalformedRequest(error, socket, (openReplies.get(socket) ?? 0) > 0),
  );
  return server;
}

/** Counts the unfinished replies of a connection. */
function countReply(underWay: WeakMap<Duplex, number>, socket: Duplex, response: ServerResponse): void {
  const add = (change: number) => underWay.set(socket, (underWay.get(socket) ?? 0) + change);
  add(1);
  response.once('close', () => add(-1));
}

const headStatus = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
]);

/** Answers bytes that Node cannot parse as a request, unless a reply is in progress. */
function rejectMalformedRequest(error: NodeJS.ErrnoException, socket: Duplex, isReplyUnderWay: boolean): void {
  if (!socket.writable || isReplyUnderWay) return void socket.destroy();
  const status = headStatus.get(error.code ?? '') ?? 400;
  const text = `${engineError(badArguments, 'BAD_ARGUMENTS', 'The request is no HTTP request').message}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: text/plain; charset=UTF-8',
    `X-ClickHouse-Exception-Code: ${badArguments}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}

interface ReceivedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  isAuthorized(request: IncomingMessage, url: URL): boolean;
  /** Whether the client waits for 100 Continue before sending its body. */
  awaitsContinue: boolean;
}

async function handleRequest(options: EngineServerOptions, received: ReceivedRequest): Promise<void> {
  const url = addressOf(received.request);
  if (url.pathname === '/ping') received.response.end('Ok.\n');
  else await serve(options, received, url);
}

function addressOf({ url = '/' }: IncomingMessage): URL {
  try {
    return new URL(url, 'http://localhost');
  } catch {
    throw engineError(
      badArguments,
      'BAD_ARGUMENTS',
      `The address is no URL: ${JSON.stringify(url.slice(0, shownCharacters))}`,
    );
  }
}

const badArguments = 36;
const authenticationFailed = 516;
/** Maximum length of client text in an error message. */
const shownCharacters = 200;

function createAuthorizer(password: string): ReceivedRequest['isAuthorized'] {
  const wanted = Buffer.from(password);
  const isRight = (given: string) => {
    const bytes = Buffer.from(given);
    return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
  };
  return (request, url) => {
    const [scheme, credentials = ''] = (request.headers.authorization ?? '').split(' ');
    const basic = scheme?.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString() : undefined;
    const key = request.headers['x-clickhouse-key'];
    const given =
      basic?.slice(basic.indexOf(':') + 1) ??
      (typeof key === 'string' ? key : (url.searchParams.get('password') ?? ''));
    return isRight(given);
  };
}

async function serve(
  options: EngineServerOptions,
  { request, response, isAuthorized, awaitsContinue }: ReceivedRequest,
  url: URL,
): Promise<void> {
  if (!isAuthorized(request, url))
    throw engineError(
      authenticationFailed,
      'AUTHENTICATION_FAILED',
      'default: Authentication failed: password is incorrect, or there is no user with such name.',
    );
  response.setHeader('X-ClickHouse-Server-Display-Name', options.displayName);
  if (url.pathname !== '/')
    throw engineError(60, 'UNKNOWN_TABLE', `There is no handle ${url.pathname.slice(0, shownCharacters)}`);
  if (awaitsContinue) response.writeContinue();
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const asked = await readRequest(request, url);
  const startedAt = process.hrtime.bigint();
  const insert = findInsert(asked);
  if (insert) await serveInsert(options, asked, insert, { response, signal: gone.signal, startedAt });
  else await serveQuery(options, asked, { response, signal: gone.signal, startedAt });
}

interface Insert {
  head: InsertHead;
  data: Buffer;
}

/** Usually the head is in the URL and the body is the data, which is then not copied. */
function findInsert(asked: EngineRequest): Insert | undefined {
  const inAddress = readInsertHead(asked.head);
  if (inAddress && inAddress.dataStart >= asked.head.length) return { head: inAddress, data: asked.body };
  const text = wholeText(asked);
  const head = readInsertHead(text);
  return head && { head, data: text.subarray(head.dataStart) };
}

interface Exchange {
  response: ServerResponse;
  signal: AbortSignal;
  startedAt: bigint;
}

function scopeOf(asked: EngineRequest, signal: AbortSignal): QueryScope {
  return {
    database: asked.database ?? defaultDatabase,
    settings: asked.settings,
    parameters: asked.parameters,
    signal,
  };
}

async function serveInsert(
  options: EngineServerOptions,
  asked: EngineRequest,
  { head, data }: Insert,
  { response, signal, startedAt }: Exchange,
): Promise<void> {
  const scope = { ...scopeOf(asked, signal), settings: new Map([...atomicInsertSettings, ...asked.settings]) };
  await options.engine.use('insert', scope, (use) => insertData(use, head, data, spoolFile(options)));
  setHead(response, asked, head.format, startedAt);
  response.end();
}

/** The same as `max_query_size` of the service's queries. */
const queryLimitBytes = 16 * 1024 * 1024;

async function serveQuery(
  options: EngineServerOptions,
  asked: EngineRequest,
  { response, signal, startedAt }: Exchange,
): Promise<void> {
  const text = wholeText(asked);
  if (text.length > queryLimitBytes)
    throw engineError(62, 'SYNTAX_ERROR', `Max query size exceeded: ${text.length} bytes, ${queryLimitBytes} are read`);
  const { verb, sql, format: named, hasSeveral, isNested } = readQuery(text.toString('utf8'));
  if (sql === '') throw engineError(62, 'SYNTAX_ERROR', 'Empty query');
  if (hasSeveral) throw engineError(62, 'SYNTAX_ERROR', 'Syntax error (Multi-statements are not allowed)');
  if (isShutdown(sql)) throw engineError(497, 'ACCESS_DENIED', 'The service that has started this server stops it');
  const format = named ?? asked.defaultFormat ?? 'TabSeparated';
  const queue = queueOf(verb, sql);
  const isStreamable = queue === 'read' && (verb === 'SELECT' || verb === 'WITH');
  const query = {
    sql,
    format,
    hasFormat: named !== undefined,
    isStreamable,
    isTriedWhole: isNested || asked.waitsForEnd,
    spool: spoolFile(options),
  };
  const scope = scopeOf(asked, signal);
  const small = await runIfSmall(options.engine, scope, query);
  if (small) {
    setHead(response, asked, format, startedAt);
    await send(response, asked, signal, only(small), options.engine);
    return;
  }
  await options.engine.use(queue, scope, async (use) => {
    const pieces = runQuery(use, query);
    const held: Uint8Array[] = [];
    if (asked.waitsForEnd) for await (const piece of pieces) held.push(piece);
    // Waits for the first piece before sending the head, so that an early error has its own status.
    const first = await pieces.next();
    setHead(response, asked, format, startedAt);
    await send(response, asked, signal, concatenate(held, first, pieces), options.engine);
  });
}

async function* only(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  if (piece.length > 0) yield piece;
}

async function* concatenate(
  held: Uint8Array[],
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* held;
  if (first.done !== true) yield first.value;
  yield* rest;
}

async function send(
  response: ServerResponse,
  asked: EngineRequest,
  signal: AbortSignal,
  pieces: AsyncGenerator<Uint8Array>,
  engine: Engine,
): Promise<void> {
  const sink: Writable = asked.acceptsGzip ? createGzip({ level: 1 }) : response;
  if (sink !== response) sink.pipe(response, { end: false });
  try {
    for await (const piece of pieces) {
      if (!sink.write(piece)) await once(sink, 'drain', { signal });
      signal.throwIfAborted();
    }
  } catch (error) {
    if (signal.aborted) return;
    await abortReply(response, sink, exceptionMark(tagOf(response), await toEngineError(error, engine)));
    return;
  }
  if (sink !== response) {
    sink.end();
    await once(sink, 'end', { signal });
  }
  response.end();
}

/** Marks the reply as failed and closes the connection without ending the body, so that it does not look complete. */
async function abortReply(response: ServerResponse, sink: Writable, mark: string): Promise<void> {
  if (sink === response) await new Promise((resolve) => response.write(mark, resolve));
  else {
    sink.end(mark);
    await once(sink, 'end');
  }
  response.socket?.destroySoon();
}

/** Marks a failed reply that began with status 200; `@clickhouse/client` looks for it. */
function exceptionMark(tag: string, error: EngineError): string {
  const message = `${error.message}\n`;
  return `\r\n__exception__\r\n${tag}\n${message}${Buffer.byteLength(message)} ${tag}\r\n__exception__\r\n`;
}

function tagOf(response: ServerResponse): string {
  return String(response.getHeader('X-ClickHouse-Exception-Tag') ?? '');
}

function setHead(response: ServerResponse, asked: EngineRequest, format: string, startedAt: bigint): void {
  const summary = {
    read_rows: '0',
    read_bytes: '0',
    written_rows: '0',
    written_bytes: '0',
    total_rows_to_read: '0',
    result_rows: '0',
    result_bytes: '0',
    elapsed_ns: String(process.hrtime.bigint() - startedAt),
  };
  response.setHeader('Content-Type', mediaType(format));
  response.setHeader('X-ClickHouse-Summary', JSON.stringify(summary));
  response.setHeader('X-ClickHouse-Format', format);
  response.setHeader('X-ClickHouse-Timezone', 'UTC');
  response.setHeader('X-ClickHouse-Exception-Tag', randomBytes(8).toString('hex'));
  if (asked.queryId !== undefined && /^[\x20-\x7e]+$/.test(asked.queryId))
    response.setHeader('X-ClickHouse-Query-Id', asked.queryId);
  if (asked.acceptsGzip) response.setHeader('Content-Encoding', 'gzip');
}

async function fail(engine: Engine, response: ServerResponse, thrown: unknown): Promise<void> {
  if (response.destroyed) return;
  const error = await toEngineError(thrown, engine);
  if (response.headersSent) {
    response.socket?.destroy();
    return;
  }
  response.removeHeader('Content-Encoding');
  // The rest of the request is not read.
  if (error.code === authenticationFailed) response.setHeader('Connection', 'close');
  response.writeHead(statusOf(error), {
    'Content-Type': 'text/plain; charset=UTF-8',
    'X-ClickHouse-Exception-Code': String(error.code),
  });
  response.end(`${error.message}\n`);
}

let spoolFileCount = 0;

function spoolFile({ spoolDir }: EngineServerOptions): string {
  return join(spoolDir, `${process.pid}-${++spoolFileCount}`);
}
