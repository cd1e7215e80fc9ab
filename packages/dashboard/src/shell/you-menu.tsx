import { useNavigate } from '@tanstack/react-router';
import { signOut } from '../api';
import { useWhoCalls } from '../live/rights';
import { useSignal } from '../live/signal';
import { prefer, preferences } from '../preferences';
import { session } from '../session';
import { MenuButton } from '../ui/menu';
import { failureText } from '../ui/read';
import { toast } from '../ui/toasts';

const leave = (): void =>
  void signOut().catch((cause: unknown) =>
    toast.add({ title: 'You are still signed in', description: failureText(cause), type: 'bad' }),
  );

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
        session.token() === undefined && who.data?.sessionEndsAt === undefined
          ? { label: 'Sign in', onChoose: () => session.state.set('out') }
          : { label: 'Sign out', onChoose: leave },
      ]}
    />
  );
}
