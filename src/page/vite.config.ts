import { join } from 'node:path'
import { defineConfig } from 'vite'

/** Builds the pages of the receiver and of the service into `dist/page`, with relative URLs and without inline code. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  logLevel: 'warn',
  build: {
    outDir: '../../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ['index.html', 'service.html'].map((name) => join(import.meta.dirname, name)),
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
})
