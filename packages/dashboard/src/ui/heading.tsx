import { useEffect, useRef, type ReactNode } from 'react';
import { view } from '../view';

/** Of the page whose heading has had the focus; the first page of all leaves it where it is. */
let headed = location.pathname;

/**
 * The heading of a page, which names the tab of the browser, too. On another page than before it gets the focus, so that a screen reader
 * says where one is; a page that is only drawn again leaves the focus alone.
 */
export function Heading({ children }: { children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${heading.current?.textContent ?? ''} · ${view.title}`;
    if (headed === location.pathname) return;
    headed = location.pathname;
    heading.current?.focus({ preventScroll: true });
  });
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}
