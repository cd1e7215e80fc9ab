import { useNavigate } from '@tanstack/react-router';
import { muster } from '../api';
import { useSignal } from '../live/signal';
import { prefer, preferences } from '../preferences';
import { session } from '../session';
import { MenuButton } from '../ui/menu';
import { useRead } from '../ui/read';

export const useWhoCalls = () =>
  useRead(['who'], async () => {
    const who = await muster.auth.whoCalls({});
    if (who.authenticated) session.accepted();
    return who;
  });

/** Nothing of what was shown is left on the page. */
function signOut(): void {
  session.signOut();
  location.reload();
}

const nextTheme = { system: 'dark', dark: 'light', light: 'system' } as const;

/** Who calls, and what each prefers. */
export function YouMenu() {
  const who = useWhoCalls();
  const preferred = useSignal(preferences);
  const navigate = useNavigate();
  const name = session.name() ?? who.data?.user?.name ?? who.data?.user?.id ?? 'You';
  const theme = nextTheme[preferred.theme];
  return (
    <MenuButton
      label={`${name}: preferences`}
      text={name}
      choices={[
        { label: `Theme: ${theme}`, onChoose: () => prefer({ theme }) },
        {
          label: preferred.times === 'relative' ? 'Times by the clock' : 'Times as ages',
          onChoose: () => prefer({ times: preferred.times === 'relative' ? 'exact' : 'relative' }),
        },
        { label: 'Preferences', onChoose: () => void navigate({ to: '/preferences' }) },
        session.token() === undefined
          ? { label: 'Sign in', onChoose: () => session.state.set('out') }
          : { label: 'Sign out', onChoose: signOut },
      ]}
    />
  );
}
