import { useEffect } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { Signal } from '../live/signal';
import { preferences } from '../preferences';

/** Whether the search over everything is open. */
export const palette = new Signal(false);

const pages: Readonly<Record<string, string>> = { r: '/requests', t: '/tasks', m: '/slaves', s: '/status' };

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** `/`, `s`, `t` and Ctrl-K find; `g` and a letter goes to a page. Keys without Ctrl can be switched off. */
export function useKeys(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let afterG = false;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        palette.set(true);
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (!preferences.get().letterKeys || document.querySelector('.dialog')) return;
      const page = afterG ? pages[event.key] : undefined;
      afterG = event.key === 'g';
      if (page !== undefined) void navigate({ to: page });
      else if (['/', 's', 't'].includes(event.key)) {
        event.preventDefault();
        palette.set(true);
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate]);
}
