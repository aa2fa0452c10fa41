/** What the server reads from a query's text before running it. Positions count characters. */
export interface QueryText {
  /** First word in upper case (`SELECT`, `INSERT`, `ALTER` …), empty for an empty text. */
  verb: string;
  /** The text without a trailing semicolon. */
  sql: string;
  /** The output or input format: the name after the last FORMAT. */
  format: string | undefined;
  /** Whether another statement follows a semicolon. */
  hasSeveral: boolean;
  /** Whether it contains more than one SELECT. */
  isNested: boolean;
}

export interface Token {
  kind: 'word' | 'quoted' | 'string' | 'number' | 'sign';
  text: string;
  start: number;
  end: number;
}

const tokenPattern =
  /(?<skip>\s+|--[^\n]*|#[! ][^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|\$(?<tag>\w*)\$[\s\S]*?(?:\$\k<tag>\$|$))|(?<quoted>`(?:[^`\\]|\\[\s\S]|``)*(?:`|$)|"(?:[^"\\]|\\[\s\S]|"")*(?:"|$))|(?<word>[A-Za-z_][\w$]*)|(?<number>\d[\w.]*)|(?<sign>[\s\S])/y;

/** The tokens of a query, without comments and blanks. */
export function* tokens(text: string): Generator<Token> {
  const pattern = new RegExp(tokenPattern.source, 'y');
  for (;;) {
    const start = pattern.lastIndex;
    const found = pattern.exec(text)?.groups;
    if (!found) return;
    const end = pattern.lastIndex;
    const kind = (['string', 'quoted', 'word', 'number', 'sign'] as const).find((name) => found[name] !== undefined);
    if (kind) yield { kind, text: text.slice(start, end), start, end };
  }
}

export function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === word;
}

/** Reads a query without inline data (for INSERT with data see insert.ts), in constant memory. */
export function readQuery(text: string): QueryText {
  const read: QueryText = { verb: '', sql: '', format: undefined, hasSeveral: false, isNested: false };
  let [end, selects, isStarted, isOver] = [0, 0, false, false];
  let last: readonly (Token | undefined)[] = [];
  for (const token of tokens(text)) {
    if (isOver && token.text !== ';') {
      read.hasSeveral = true;
      break;
    }
    isOver ||= token.kind === 'sign' && token.text === ';';
    if (isOver) continue;
    if (!isStarted && token.text !== '(') {
      isStarted = true;
      if (token.kind === 'word') read.verb = token.text.toUpperCase();
    }
    if (isWord(token, 'SELECT')) selects++;
    if (isWord(token, 'SETTINGS')) read.format = formatName(last) ?? read.format;
    last = [last.at(-1), token];
    end = token.end;
  }
  return { ...read, sql: text.slice(0, end), format: formatName(last) ?? read.format, isNested: selects > 1 };
}

/** The name in `FORMAT Name` at the end or before SETTINGS; a column called format is not meant. */
function formatName([word, name]: readonly (Token | undefined)[]): string | undefined {
  return isWord(word, 'FORMAT') && name?.kind === 'word' ? name.text : undefined;
}

/** Whether the statement would end the process that runs it. */
export function isShutdown(sql: string): boolean {
  const [first, second] = tokens(sql);
  return isWord(first, 'SYSTEM') && (isWord(second, 'SHUTDOWN') || isWord(second, 'KILL'));
}

export type QueueName = 'read' | 'insert' | 'schema' | 'change' | 'kill';

const readingVerbs = new Set(['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS', 'CHECK', 'VALUES']);

/** Changes of tables that rewrite no rows, such as ADD COLUMN: ingest must not wait for them behind a long mutation. */
function isSchemaChange(verb: string, sql: string): boolean {
  if (verb === 'CREATE') return ![...tokens(sql)].some((token) => isWord(token, 'SELECT'));
  if (verb !== 'ALTER') return false;
  const words = [...tokens(sql)].map(({ kind, text }) => (kind === 'word' ? text.toUpperCase() : ''));
  const hasSchemaAction = words.some((word, index) => schemaActions.has(`${word} ${words[index + 1]}`));
  return hasSchemaAction && !words.some((word) => rowActions.has(word));
}

const schemaActions = new Set(['ADD COLUMN', 'MODIFY SETTING', 'RESET SETTING', 'ADD INDEX', 'ADD PROJECTION']);
const rowActions = new Set(['DELETE', 'UPDATE', 'MATERIALIZE', 'DROP', 'CLEAR', 'DETACH', 'ATTACH', 'APPLY']);

/** The queue of a statement without inline data. WITH may also begin an INSERT … SELECT. */
export function queueOf(verb: string, sql: string): QueueName {
  if (verb === 'KILL') return 'kill';
  if (isSchemaChange(verb, sql)) return 'schema';
  if (!readingVerbs.has(verb)) return 'change';
  if (verb !== 'WITH') return 'read';
  for (const token of tokens(sql)) if (isWord(token, 'INSERT')) return 'change';
  return 'read';
}

/** A ClickHouse string literal. */
export function literal(text: string): string {
  return `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
}
