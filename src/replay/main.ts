import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { createApi } from './api.ts';
import { detect } from './detect.ts';
import { readMapping } from './mapping.ts';
import { digestOf, runReplay } from './run.ts';
import { readTable } from './table.ts';

const usage = `npm run replay -- FILE.csv [options]

Makes a survey from a CSV of responses, publishes it, submits every row through the public interface, prints the counts of every
question and a crosstab, and compares them with the file, cell by cell. Ends with 1 when anything differs.

  --url ORIGIN          the service (default http://127.0.0.1:3000)
  --email, --password   who makes the survey (default ADMIN_EMAIL or admin@localhost, and ADMIN_PASSWORD, from the environment or .env)
  --token TOKEN         an access token or API key instead
  --title TEXT          the survey's title (default: the file's name)
  --mapping FILE.json   overrules what is recognised:
                        {"columns": {"<header or column number from 0>": {"type", "question", "options", "ignore"}}}
  --crosstab TEXT       the wording of a question to cross; give it twice
  --concurrency N       submissions at a time (default 32)
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:3000' },
    email: { type: 'string', default: process.env['ADMIN_EMAIL'] ?? 'admin@localhost' },
    password: { type: 'string', default: process.env['ADMIN_PASSWORD'] ?? '' },
    token: { type: 'string' },
    title: { type: 'string' },
    mapping: { type: 'string' },
    crosstab: { type: 'string', multiple: true },
    concurrency: { type: 'string', default: '32' },
    help: { type: 'boolean', default: false },
  },
});
const [file] = positionals;

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(path: string): Promise<number> {
  const { table, bytes } = readTable(path);
  const detection = detect(table, values.mapping === undefined ? undefined : readMapping(values.mapping));
  const api = createApi(values.url.replace(/\/+$/, ''));
  if (values.token !== undefined) api.useToken(values.token);
  else await api.signIn(values.email, values.password);
  const [first, second] = values.crosstab ?? [];
  const differences = await runReplay({
    api, table, detection, fileDigest: digestOf(bytes), title: values.title ?? basename(path), concurrency: Math.max(1, Number(values.concurrency) || 32),
    crosstab: first !== undefined && second !== undefined ? [first, second] : undefined, print: say, progress: (text) => void process.stderr.write(text),
  });
  return differences.length === 0 ? 0 : 1;
}

if (file === undefined || values.help) {
  process.stderr.write(usage);
  process.exitCode = values.help ? 0 : 2;
} else {
  process.exitCode = await main(file).catch((error: unknown) => {
    process.stderr.write(`replay failed: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  });
}
