import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Injectable } from '@nestjs/common';
import type { AssetNames } from './index-view.js';

export interface Asset {
  body: Buffer;
  type: string;
}

/** The files of the page, under names that change with their content, so that browsers may keep them for ever. */
@Injectable()
export class Assets {
  readonly names: AssetNames;
  private readonly byName = new Map<string, Asset>();

  constructor() {
    this.names = {
      appJsPath: this.load('app.js', 'text/javascript; charset=utf-8'),
      vendorJsPath: this.load('vendor.js', 'text/javascript; charset=utf-8'),
      appCssPath: this.load('app.css', 'text/css; charset=utf-8'),
    };
  }

  find(name: string): Asset | undefined {
    return this.byName.get(name);
  }

  private load(file: string, type: string): string {
    const body = readFileSync(new URL(`assets/${file}`, import.meta.url));
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 12);
    const name = file.replace('.', `.${hash}.`);
    this.byName.set(name, { body, type });
    return name;
  }
}
