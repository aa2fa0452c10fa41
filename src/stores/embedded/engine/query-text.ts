/** What the server must know of a query's text before it runs it; positions count characters of the text. */
export interface QueryText {
  /** First word in upper case (`SELECT`, `INSERT`, `ALTER` …), empty for an empty text. */
  verb: string;
  /** The text without a trailing semicolon. */
  sql: string;
  /** The name after the last FORMAT, where it is the query's output or input format. */
  format: string | undefined;
  /** True if another statement follows a semicolon. */
  hasSeveral: boolean;
  /** True if there is a SELECT inside the SELECT. */
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

/** The words and signs of a query, comments and blanks left out. */
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

/** Reads a query without inline data (for INSERT with data see insert-head.ts). */
export function readQuery(text: string): QueryText {
  const all = [...tokens(text)];
  const firstSemicolon = all.findIndex((token) => token.kind === 'sign' && token.text === ';');
  const own = firstSemicolon === -1 ? all : all.slice(0, firstSemicolon);
  const rest = firstSemicolon === -1 ? [] : all.slice(firstSemicolon).filter((token) => token.text !== ';');
  const first = own.find((token) => token.text !== '(');
  return {
    verb: first?.kind === 'word' ? first.text.toUpperCase() : '',
    sql: text.slice(0, own.at(-1)?.end ?? 0),
    format: outputFormat(own),
    hasSeveral: rest.length > 0,
    isNested: own.filter((token) => isWord(token, 'SELECT')).length > 1,
  };
}

/** `… FORMAT Name` or `… FORMAT Name SETTINGS …`; a column that is called format is not meant. */
function outputFormat(all: readonly Token[]): string | undefined {
  for (let at = all.length - 2; at >= 0; at--) {
    const [word, name, next] = [all[at], all[at + 1], all[at + 2]];
    if (isWord(word, 'FORMAT') && name?.kind === 'word' && (next === undefined || isWord(next, 'SETTINGS'))) return name.text;
  }
  return undefined;
}

/** A ClickHouse string literal. */
export function literal(text: string): string {
  return `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
}
