import { useSyncExternalStore } from 'react';

/** The width below which styles/parts.css makes cards of rows. */
const narrow = matchMedia('(max-width: 720px)');

function watch(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

export const useNarrow = (): boolean => useSyncExternalStore(watch, () => narrow.matches);
