import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/** Vite loads style sheets and scripts ahead of a part that is imported later: the preview, which has none of its own. */
const withoutPreloads: Plugin = {
  name: 'without-preloads',
  enforce: 'pre',
  load: (id) =>
    id === '\0vite/preload-helper.js' ? 'export const __vitePreload = (importPart) => importPart();' : undefined,
};

/** The respondent's page: one script without a framework's runtime beside Preact, and one style sheet. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/',
  logLevel: 'warn',
  plugins: [withoutPreloads],
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
