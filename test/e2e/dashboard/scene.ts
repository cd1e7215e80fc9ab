import type { Locator, Page, Route } from 'playwright-core';
import type { Api } from '../support/api.js';
import type { Instance } from '../support/product.js';

/** The installation, signed in to, that the stories of the dashboard share. */
export interface Dashboard {
  api: () => Api;
  /** A token of an administrator. */
  token: string;
  /** Statements for what would take too many calls. */
  sql: (text: string) => Promise<unknown>;
  /** A page of it, by its path below the origin. */
  open: (path: string) => Promise<Page>;
  /** A page of a browser of its own, signed in to. */
  apart: (path: string) => Promise<Page>;
  /** A page of a browser that nobody has signed in to. */
  stranger: (path: string) => Promise<Page>;
  /** The same page at another path. */
  go: (page: Page, path: string) => Promise<unknown>;
  /** Waits for the heading of a page. */
  heading: (page: Page, name: string | RegExp) => Promise<void>;
  /** A second scheduler beside the first. */
  another: () => Promise<Instance>;
  /** The dialog of this name. */
  asked: (page: Page, name: string) => Locator;
}

export type Json = Record<string, unknown>;

/** The page as it is where the settings of the installation say something else. */
export async function withView(page: Page, change: Json): Promise<void> {
  await page.route('**/ui/**', async (route) => {
    if (route.request().resourceType() !== 'document') return route.fallback();
    const response = await route.fetch();
    const html = await response.text();
    const body = html.replace(/(<script[^>]*id="index-view"[^>]*>)([^<]*)(<\/script>)/, (_all, open, text, close) => {
      const view = JSON.stringify({ ...(JSON.parse(text as string) as Json), ...change });
      return `${open as string}${view.replaceAll('<', '\\u003c')}${close as string}`;
    });
    await route.fulfill({ response, body });
  });
}

/** Answers calls of this path as the service does, but for what `change` makes of them. */
export async function withAnswer(page: Page, path: string, change: (answer: never) => unknown): Promise<void> {
  await page.route(path, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: change((await response.json()) as never) });
  });
}

/** Keeps the next answer to this path back, as the service gave it, until it is let go. */
export async function holdBack(page: Page, path: string): Promise<{ answered: Promise<void>; letGo: () => void }> {
  let given = (): void => undefined;
  let letGo = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    given = resolve;
  });
  const free = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const hold = async (route: Route): Promise<void> => {
    const response = await route.fetch();
    given();
    await free;
    await route.fulfill({ response });
  };
  await page.route(path, hold, { times: 1 });
  return { answered, letGo };
}

export const resources = { cpus: 0.1, memoryMb: 32 };
