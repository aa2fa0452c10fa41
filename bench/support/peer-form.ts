import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** The source, not its compiled copy: the build below reads it. */
const rivalFolder = fileURLToPath(new URL('../../../bench/rival/', import.meta.url));

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

export interface ServedFiles {
  origin: string;
  stop(): void;
}

/** Builds the form of SurveyJS for production with Vite, as this service's own pages are built. */
export async function buildPeerForm(model: object, outDir: string): Promise<void> {
  const { build } = await import('vite');
  await build({
    configFile: false,
    root: rivalFolder,
    logLevel: 'error',
    define: { __SURVEY__: JSON.stringify(model) },
    build: { outDir, emptyOutDir: true, target: 'es2022', modulePreload: false },
  });
}

/** Files from memory, compressed before the first request; those of `assets/` to be kept for ever. */
export async function serveFiles(files: ReadonlyMap<string, Buffer>): Promise<ServedFiles> {
  const stored = new Map(
    [...files].map(([name, bytes]) => [name, { bytes, br: brotliCompressSync(bytes), gzip: gzipSync(bytes) }]),
  );
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? '/', 'http://host').pathname.slice(1) || 'index.html';
    const file = stored.get(name);
    if (!file) return void response.writeHead(404).end();
    const accepted = request.headers['accept-encoding'] ?? '';
    const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : undefined;
    response.writeHead(200, {
      'content-type': mediaTypes[extname(name)] ?? 'application/octet-stream',
      'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      ...(encoding && { 'content-encoding': encoding }),
    });
    response.end(encoding ? file[encoding] : file.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, stop: () => server.close() };
}

export function filesIn(folder: string): Map<string, Buffer> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), readFileSync(path)];
    }),
  );
}
