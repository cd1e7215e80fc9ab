import { useMemo } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { muster } from '../../api';
import { readAgain } from '../../live/read-again';
import { settingsKey, useSettings } from '../../live/user-settings';
import { failureText } from '../../ui/read';
import { toast } from '../../ui/toasts';

/** Requests that the caller has starred. */
export function useStars(): { starred: ReadonlySet<string>; toggle: (id: string) => void } {
  const queries = useQueryClient();
  const settings = useSettings();
  const starred = useMemo(() => new Set(settings.data?.starredRequestIds), [settings.data]);
  const toggle = (id: string) => {
    const body = { starredRequestIds: [id] };
    const call = starred.has(id) ? muster.users.unstar({ body }) : muster.users.star({ body });
    call
      .then(() => readAgain(queries, settingsKey))
      .catch((cause: unknown) => toast.add({ title: 'Not starred', description: failureText(cause), type: 'bad' }));
  };
  return { starred, toggle };
}
