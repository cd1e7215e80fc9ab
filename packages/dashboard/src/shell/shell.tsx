import { lazy, Suspense, useEffect, useRef } from 'react';
import { Outlet, useLocation } from '@tanstack/react-router';
import { openAction } from '../actions/action';
import { useSignal } from '../live/signal';
import { session } from '../session';
import { part } from '../ui/part';
import { Boundary } from '../ui/read';
import { Go } from '../ui/links';
import { view } from '../view';
import { Banners } from './banners';
import { ClusterTitle } from './cluster-title';
import { LiveMark } from './live-mark';
import { palette, useKeys } from './keys';
import { useIsAdministrator } from '../live/rights';
import { YouMenu } from './you-menu';

const Palette = lazy(part(() => import('./palette').then(({ Palette: component }) => ({ default: component }))));
const ActionDialog = lazy(part(() => import('../actions/action-dialog').then((m) => ({ default: m.ActionDialog }))));
const SignIn = lazy(part(() => import('./sign-in').then(({ SignIn: component }) => ({ default: component }))));

const main = [
  ['/requests', 'Requests'],
  ['/tasks', 'Tasks'],
  ['/schedules', 'Schedules'],
  ['/slaves', 'Machines'],
  ['/status', 'Status'],
] as const;
const more = [
  ['/task-search', 'Task search'],
  ['/racks', 'Racks'],
  ['/utilization', 'Utilization'],
  ['/crash-loops', 'Crash loops'],
  ['/activity', 'Activity'],
  ['/groups', 'Groups'],
  ['/disasters', 'Disasters'],
  ['/webhooks', 'Webhooks'],
  ['/mail', 'Mail'],
  ['/tokens', 'Tokens'],
] as const;
const ofAdministrators = [['/audit', 'Audit']] as const;

export function Shell() {
  const action = useSignal(openAction);
  const isPaletteOpen = useSignal(palette);
  const signedIn = useSignal(session.state);
  // Within an open dialog: what is beside one is hidden from assistive technology.
  const signIn = signedIn === 'out' && <SignIn />;
  useKeys();
  const { pathname } = useLocation();
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <header className="bar">
        <ClusterTitle />
        <nav aria-label="Pages">
          {main.map(([to, text]) => (
            <Go key={to} to={to}>
              {text}
            </Go>
          ))}
          <More />
        </nav>
        <button type="button" className="find" onClick={() => palette.set(true)} aria-keyshortcuts="/">
          Find <kbd>/</kbd>
        </button>
        <LiveMark />
        <YouMenu />
      </header>
      <Banners />
      <Boundary>
        <Suspense>
          {isPaletteOpen && signedIn === 'in' && <Palette />}
          {action && (
            <ActionDialog key={action.id} action={action}>
              {signIn}
            </ActionDialog>
          )}
          {!action && signIn}
        </Suspense>
      </Boundary>
      <main id="main" tabIndex={-1}>
        <Boundary key={pathname}>
          <Outlet />
        </Boundary>
      </main>
    </>
  );
}

/** The platform's own disclosure: links stay links, which open in a tab of their own. */
function More() {
  const details = useRef<HTMLDetailsElement>(null);
  const pages = useIsAdministrator() ? [...more, ...ofAdministrators] : more;
  const { pathname } = useLocation();
  useEffect(() => {
    if (details.current) details.current.open = false;
  }, [pathname]);
  const close = (event: React.KeyboardEvent) => {
    if (event.key !== 'Escape' || !details.current?.open) return;
    details.current.open = false;
    details.current.querySelector('summary')?.focus();
  };
  return (
    <details
      ref={details}
      className="more"
      onKeyDown={close}
      onBlur={(event) => {
        if (details.current && !details.current.contains(event.relatedTarget)) details.current.open = false;
      }}
    >
      <summary>More</summary>
      <div className="menu">
        {pages.map(([to, text]) => (
          <Go key={to} to={to} className="menu-item">
            {text}
          </Go>
        ))}
        <a className="menu-item" href={`${view.guideRoot}/`}>
          Guide
        </a>
        <a className="menu-item" href={view.apiDocs}>
          API documents
        </a>
      </div>
    </details>
  );
}
