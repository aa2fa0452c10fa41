// npm run build -w web [-- FOLDER]: builds the pages of the service, and the script for other sites, into FOLDER (web/dist).
// Every file also lies there compressed (.br, .gz), so that the service compresses nothing.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));
const outDir = resolve(process.argv[2] ?? join(here, 'dist'));

await build({ configFile: join(here, 'page', 'vite.config.ts'), build: { outDir: join(outDir, 'page') } });
await build({
  configFile: join(here, 'page', 'vite.config.ts'),
  build: { outDir: join(outDir, 'page-renderer'), ssr: 'renderer.tsx', manifest: false },
});
await build({ configFile: join(here, 'embed', 'vite.config.ts'), build: { outDir: join(outDir, 'embed') } });
await build({ configFile: join(here, 'console', 'vite.config.ts'), build: { outDir: join(outDir, 'console') } });

for (const face of ['page', 'embed', 'console']) {
  for (const entry of readdirSync(join(outDir, face), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(js|css|svg|json)$/.test(entry.name)) continue;
    const file = join(entry.parentPath, entry.name);
    const bytes = readFileSync(file);
    writeFileSync(`${file}.br`, brotliCompressSync(bytes));
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
}
