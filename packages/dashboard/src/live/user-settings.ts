import type { UserSettings } from 'muster-client';
import { muster } from '../api';
import { useRead } from '../ui/read';

export const settingsKey = ['who', 'settings'] as const;
/** Where an older dashboard kept stars, in the browser. */
const OLD_KEY = 'starredRequests';

/** What the service keeps for the caller, so that it is there in any browser. Stars of an older dashboard are handed over once. */
export const useSettings = () =>
  useRead<UserSettings>(settingsKey, async () => {
    const old = oldStars();
    if (old.length > 0) {
      await muster.users.star({ body: { starredRequestIds: old } });
      localStorage.removeItem(OLD_KEY);
    }
    return muster.users.settings({});
  });

function oldStars(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(OLD_KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
