import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The respondent's page: one script without a framework's runtime beside Preact, and one style sheet. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  ssr: { noExternal: true, target: 'node' },
  build: {
    target: 'es2022',
    manifest: true,
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    rolldownOptions: { input: 'main.tsx' },
  },
});
