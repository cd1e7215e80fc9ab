import { useState } from 'react';
import { Dialog } from '@base-ui/react/dialog';
import { signIn } from '../api';
import { session } from '../session';
import { signInProblem } from './sign-in-problem';
import { useWhoCalls } from '../live/rights';
import { useFilters } from '../ui/links';
import { Failure } from '../ui/read';
import { view } from '../view';

/** Over the page, which stays as it is: when a token has ended, one goes on where one was. */
export function SignIn() {
  const who = useWhoCalls();
  const [text, setText] = useState('');
  const [failure, setFailure] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const problem = signInProblem(useFilters()[0]['problem']);
  const isOpen = who.data !== undefined && !who.data.authEnabled;

  async function submit(event: React.FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      if (isOpen) {
        session.setName(text.trim());
        session.state.set('in');
      } else {
        await signIn(text.replace(/^(Token|Bearer)\s+/i, '').trim());
      }
    } catch (cause) {
      setFailure(cause);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Dialog.Root open onOpenChange={(open) => !open && isOpen && session.state.set('in')}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{isOpen ? 'Who are you?' : 'Sign in'}</Dialog.Title>
          <Dialog.Description>
            {isOpen
              ? 'The service asks for no proof. A name here stands beside what you change, in its history.'
              : 'The service asks who calls. What is open on this page stays as it is.'}
          </Dialog.Description>
          {problem !== undefined && (
            <p className="notice bad" role="alert">
              {problem}
            </p>
          )}
          {!isOpen && view.signInUrl !== undefined && (
            <div className="buttons">
              <button type="button" className="primary" onClick={() => session.visitProvider(view.signInUrl!)}>
                {view.signInLabel}
              </button>
            </div>
          )}
          <form onSubmit={(event) => void submit(event)}>
            <label className="field">
              <span>{isOpen ? 'Name' : 'Token'}</span>
              <input
                type={isOpen ? 'text' : 'password'}
                autoComplete={isOpen ? 'username' : 'current-password'}
                value={text}
                onChange={(event) => setText(event.target.value)}
                required={!isOpen}
              />
            </label>
            {failure !== undefined && <Failure cause={failure} />}
            <div className="buttons">
              <button type="submit" className={view.signInUrl === undefined || isOpen ? 'primary' : ''} disabled={busy}>
                {isOpen ? 'Go on' : 'Sign in'}
              </button>
              {isOpen && <Dialog.Close>Without a name</Dialog.Close>}
            </div>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
