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

export type Preferences = Readonly<Record<string, unknown>>;

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

/** What is kept for a user, with other views and the rest as it is. */
export function withViews(preferences: Preferences, change: (saved: SavedViews) => SavedViews): Preferences {
  const own = preferences['dashboard'];
  return { ...preferences, dashboard: { ...(isMap(own) && own), ...change(viewsIn(preferences)) } };
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
