import { chromium } from 'playwright-core';
const base = process.argv[2] ?? 'http://127.0.0.1:7299';
const pages = process.argv.slice(3);
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless','--no-sandbox','--disable-gpu'] });
const dark = process.env.DARK; const w = Number(process.env.W ?? 1280);
const ctx = await b.newContext({ viewport: { width: w, height: 800 }, colorScheme: dark ? 'dark' : 'light' });
for (const p of pages) {
  const page = await ctx.newPage();
  page.on('console', m => m.type()==='error' && console.log(p, 'CONSOLE', m.text()));
  page.on('pageerror', e => console.log(p, 'ERROR', e.message));
  await page.goto(base + p); await page.waitForTimeout(2500);
  const name = '/tmp/shots/' + (p.replaceAll(/[^\w]+/g,'_') || 'root') + (dark?'-dark':'') + (w!==1280?`-${w}`:'') + '.png';
  await page.screenshot({ path: name }); console.log(p, page.url(), name);
  await page.close();
}
await b.close();
