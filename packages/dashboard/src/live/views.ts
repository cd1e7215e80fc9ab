import { muster } from '../api';

/** An address with a name: a page and its filters. */
export interface View {
  readonly name: string;
  /** Path below the page's own, and the filters. */
  readonly to: string;
}

export interface SavedViews {
  readonly views: readonly View[];
  /** Name of the one at which the dashboard starts. */
  readonly start?: string | undefined;
}

type Preferences = Readonly<Record<string, unknown>>;

const isMap = (value: unknown): value is Preferences =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isView = (value: unknown): value is View =>
  isMap(value) && typeof value['name'] === 'string' && typeof value['to'] === 'string' && /^\/(?!\/)/.test(value['to']);

/** The views in what is kept for a user; what others have written there is left out. */
export function viewsIn(preferences: Preferences | undefined): SavedViews {
  const own = preferences?.['dashboard'];
  if (!isMap(own)) return { views: [] };
  const views = Array.isArray(own['views']) ? own['views'].filter(isView) : [];
  const start = views.find(({ name }) => name === own['start'])?.name;
  return start === undefined ? { views } : { views, start };
}

/** The same with this view, in place of one of its name. */
export function withView({ views, start }: SavedViews, view: View, isStart: boolean): SavedViews {
  const others = views.filter(({ name }) => name !== view.name);
  const nextStart = isStart ? view.name : start === view.name ? undefined : start;
  return { views: [...others, view], start: nextStart };
}

export function withoutView({ views, start }: SavedViews, name: string): SavedViews {
  return { views: views.filter((view) => view.name !== name), start: start === name ? undefined : start };
}

/** Reads what is kept, changes the views in it and leaves the rest as it is. */
export async function changeViews(change: (saved: SavedViews) => SavedViews): Promise<void> {
  const { preferences = {} } = await muster.users.settings({});
  const dashboard = isMap(preferences['dashboard']) ? preferences['dashboard'] : {};
  const next = { ...preferences, dashboard: { ...dashboard, ...change(viewsIn(preferences)) } };
  await muster.users.prefer({ body: { preferences: next } });
}

/** Where the dashboard starts; the list of requests where nobody has chosen, or it cannot be known now. */
export async function startPage(): Promise<string> {
  try {
    const { views, start } = viewsIn((await muster.users.settings({})).preferences);
    return views.find(({ name }) => name === start)?.to ?? '/requests';
  } catch {
    return '/requests';
  }
}
