import type { Locator, Page } from 'playwright-core';
import type { Api } from '../support/api.js';

/** The installation, signed in to, that the stories of the dashboard share. */
export interface Dashboard {
  api: () => Api;
  /** A page of it, by its path below the origin. */
  open: (path: string) => Promise<Page>;
  /** The same page at another path. */
  go: (page: Page, path: string) => Promise<unknown>;
  /** Waits for the heading of a page. */
  heading: (page: Page, name: string | RegExp) => Promise<void>;
  /** The dialog of this name. */
  asked: (page: Page, name: string) => Locator;
}

export const resources = { cpus: 0.1, memoryMb: 32 };
