import { useEffect, useRef, useState } from 'react';

const QUIET_MS = 500;

export interface Answer<T> {
  readonly value?: T;
  readonly failure?: unknown;
}

/** What the service says of a document while it is written: asked again when nothing was typed for a moment. */
export function useAnswer<T>(document: unknown, ask: () => Promise<T>): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({});
  const asked = useRef(0);
  useEffect(() => {
    const mine = ++asked.current;
    const timer = setTimeout(() => {
      ask().then(
        (value) => mine === asked.current && setAnswer({ value }),
        (failure: unknown) => mine === asked.current && setAnswer({ failure }),
      );
    }, QUIET_MS);
    return () => clearTimeout(timer);
    // What is asked depends on the document alone.
  }, [document]);
  return answer;
}
