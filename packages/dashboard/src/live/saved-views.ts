import { muster } from '../api';
import { viewsIn, withViews, type SavedViews } from './views';

/** Reads what is kept, changes the views in it and leaves the rest as it is. */
export async function changeViews(change: (saved: SavedViews) => SavedViews): Promise<void> {
  const { preferences = {} } = await muster.users.settings({});
  await muster.users.prefer({ body: { preferences: withViews(preferences, change) } });
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
