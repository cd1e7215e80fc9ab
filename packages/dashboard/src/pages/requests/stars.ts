import { useMemo } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { muster } from '../../api';
import { failureText, useRead } from '../../ui/read';
import { toast } from '../../ui/toasts';

const KEY = ['who', 'settings'] as const;
/** Where an older dashboard kept them, in the browser. */
const OLD_KEY = 'starredRequests';

/** Requests that the caller has starred. The service keeps them, so they are there in any browser. */
export function useStars(): { starred: ReadonlySet<string>; toggle: (id: string) => void } {
  const queries = useQueryClient();
  const settings = useRead(KEY, async () => {
    const old = oldStars();
    if (old.length > 0) {
      await muster.users.star({ body: { starredRequestIds: old } });
      localStorage.removeItem(OLD_KEY);
    }
    return muster.users.settings({});
  });
  const starred = useMemo(() => new Set(settings.data?.starredRequestIds), [settings.data]);
  const toggle = (id: string) => {
    const body = { starredRequestIds: [id] };
    const call = starred.has(id) ? muster.users.unstar({ body }) : muster.users.star({ body });
    call
      .then(() => queries.invalidateQueries({ queryKey: KEY }))
      .catch((cause: unknown) => toast.add({ title: 'Not starred', description: failureText(cause), type: 'bad' }));
  };
  return { starred, toggle };
}

function oldStars(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(OLD_KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
