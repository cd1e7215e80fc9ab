import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

export const browserPath = '/usr/bin/chromium';
export const hasBrowser = existsSync(browserPath);
if (!hasBrowser) console.log(`Tests in a browser are left out: there is no ${browserPath}`);

export const browserArguments = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const startBrowser = (...furtherArguments: string[]): Promise<Browser> =>
  chromium.launch({ executablePath: browserPath, args: [...browserArguments, ...furtherArguments] });
