import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The script of other sites that embed a survey: one classic script without imports, under one name for ever. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  logLevel: 'warn',
  build: {
    target: 'es2022',
    emptyOutDir: true,
    lib: { entry: 'embed.ts', formats: ['iife'], name: 'surveyEmbed', fileName: () => 'embed.js' },
  },
});
