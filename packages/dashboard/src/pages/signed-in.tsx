import { useEffect } from 'react';
import { session } from '../session';
import { signInProblem } from '../shell/sign-in-problem';
import { Heading } from '../ui/heading';
import { Go, useFilters } from '../ui/links';

/** Where a provider sends people back to. A window that was opened for it closes. */
export function Page() {
  const [{ problem }] = useFilters();
  useEffect(() => {
    if (problem !== undefined) return;
    session.begin();
    const address = session.takeReturn();
    if (address === null) window.close();
    else location.replace(address);
  }, [problem]);
  return (
    <>
      <Heading>{problem === undefined ? 'Signed in' : 'Not signed in'}</Heading>
      <p>
        {signInProblem(problem) ?? 'You can close this window.'} <Go to="/requests">Requests</Go>
      </p>
    </>
  );
}
