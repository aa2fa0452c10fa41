import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The console: an application of its own in index.html, whose views are loaded when they are first shown. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/',
  logLevel: 'warn',
  plugins: [react()],
  build: { target: 'es2022', manifest: true, emptyOutDir: true, assetsInlineLimit: 0 },
});
