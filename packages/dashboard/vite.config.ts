import { defineConfig, type Plugin } from 'vite';

/** What nearly every page needs: kept by browsers while only the pages change. Dialogs and menus come with the pages that have them. */
const vendor = /\/node_modules\/(react|react-dom|scheduler|@tanstack\/[\w-]+)\/|\/packages\/client\/dist\//;

/** `npm run dev`: pages from here, everything else from a running service, which also says what the page is told about it. */
const service = process.env['MUSTER_URL'] ?? 'http://127.0.0.1:7099';

const viewOfService: Plugin = {
  name: 'index-view-of-the-service',
  apply: 'serve',
  async transformIndexHtml(html) {
    const page = await (await fetch(`${service}/ui`)).text();
    const [, text] = /id="index-view">(.*?)<\/script>/s.exec(page) ?? [];
    return html.replace('{}', text ?? '{}');
  },
};

export default defineConfig({
  base: './',
  plugins: [viewOfService],
  server: { proxy: { '/api': service, '/docs': service } },
  build: {
    target: 'es2023',
    manifest: true,
    assetsDir: '',
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      input: 'src/main.tsx',
      output: {
        entryFileNames: 'app.[hash].js',
        chunkFileNames: '[name].[hash].js',
        assetFileNames: '[name].[hash][extname]',
        codeSplitting: { groups: [{ name: 'vendor', test: vendor }] },
      },
    },
  },
});
