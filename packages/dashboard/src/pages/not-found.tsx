import { useLocation } from '@tanstack/react-router';
import { Go } from '../ui/links';

export function NotFound() {
  const { pathname } = useLocation();
  return (
    <>
      <h1>Not found</h1>
      <p>
        There is no page at <code>{pathname}</code>. <Go to="/requests">All requests</Go>
      </p>
    </>
  );
}
