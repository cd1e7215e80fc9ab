import type { IndexView } from 'muster-client';

/** What the service tells its page about this installation. */
export const view: IndexView = JSON.parse(document.getElementById('index-view')?.textContent ?? '{}') as IndexView;

export interface TitledLink {
  readonly title: string;
  readonly linkFormat: string;
  readonly tooltip?: string;
}

export interface ShellCommandChoice {
  readonly name: string;
  readonly description?: string;
  readonly options?: readonly { readonly name: string; readonly description?: string }[];
}

export type QuickLinks = Readonly<Record<string, Readonly<Record<string, readonly TitledLink[]>>>>;

export const navTitleLinks = JSON.parse(view.navTitleLinks || '[]') as readonly TitledLink[];
export const shellCommands = JSON.parse(view.shellCommands || '[]') as readonly ShellCommandChoice[];
export const quickLinks = JSON.parse(view.quickLinks || '{}') as QuickLinks;

/** Path of the router: the address of the page without its origin and without a slash at its end. */
export const basePath = new URL(view.appRoot || '/', location.href).pathname.replace(/\/+$/, '') || '/';

export const logPathOf = (taskId: string, hasEnded: boolean): string =>
  (hasEnded ? view.finishedTaskLogPath : view.runningTaskLogPath).replaceAll('$TASK_ID', taskId);
