// npm run generate -w client [-- ADDRESS]: writes src/schema.ts from the OpenAPI document of a running service or a file.
// ADDRESS: such as http://127.0.0.1:3000/api/v1/openapi.json (the default) or openapi.json; --output FILE: another target.
import { writeFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import openapiTypescript, { astToString } from 'openapi-typescript';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string', default: fileURLToPath(new URL('../src/schema.ts', import.meta.url)) } },
});
const [address = 'http://127.0.0.1:3000/api/v1/openapi.json'] = positionals;
const document = /^https?:/.test(address) ? new URL(address) : pathToFileURL(resolve(address));
const target = isAbsolute(values.output) ? values.output : resolve(values.output);
writeFileSync(target, astToString(await openapiTypescript(document)));
process.stdout.write(`${target} is made from ${address}\n`);
