import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** React Aria brings its few texts in 34 languages. The console speaks English, so the others stand for English. */
const englishTexts: Plugin = {
  name: 'english-texts',
  enforce: 'pre',
  load: (id) =>
    /react-(aria|stately|aria-components)\/.*\/intl\/[\w-]+\/(?!en-US)[a-z]{2}-[A-Z]{2}\.m?js$/.test(id)
      ? `export { default } from './en-US.mjs';`
      : undefined,
};

/** The console: an application of its own in index.html, whose views are loaded when they are first shown. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/',
  logLevel: 'warn',
  plugins: [englishTexts, react()],
  // The build for Node knows buffers, which browsers do not have.
  resolve: { alias: { 'csv-parse/sync': 'csv-parse/browser/esm/sync' } },
  build: { target: 'es2022', manifest: true, emptyOutDir: true, assetsInlineLimit: 0 },
});
