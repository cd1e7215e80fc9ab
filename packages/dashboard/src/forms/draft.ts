import { useState } from 'react';
import type { Document } from './document';

/** What is written stays when the page is loaded again, for this tab. */
export function useDraft(name: string, begin: Document): readonly [Document, (next: Document) => void, () => void] {
  const key = `muster.draft.${name}`;
  const [document, setDocument] = useState<Document>(() => {
    try {
      return JSON.parse(sessionStorage.getItem(key) ?? '') as Document;
    } catch {
      return begin;
    }
  });
  const keep = (next: Document) => {
    sessionStorage.setItem(key, JSON.stringify(next));
    setDocument(next);
  };
  const discard = () => {
    sessionStorage.removeItem(key);
    setDocument(begin);
  };
  return [document, keep, discard];
}
