import { engineError } from '../exception.ts';

/** More than a query has parameters. */
const partsAtMost = 10_000;

/** The fields of a multipart/form-data body (the client sends large query parameters so); undefined for any other body. */
export function readMultipart(contentType: string | undefined, body: Buffer): Map<string, string> | undefined {
  const boundary = /^multipart\/form-data;.*\bboundary="?([^";]+)"?/i.exec(contentType ?? '')?.[1];
  if (boundary === undefined) return undefined;
  const fields = new Map<string, string>();
  const mark = Buffer.from(`--${boundary}`);
  let parts = 0;
  let at = body.indexOf(mark);
  while (at !== -1) {
    parts += 1;
    if (parts > partsAtMost) throw engineError(36, 'BAD_ARGUMENTS', `The form has more than ${partsAtMost} parts`);
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
