import { useLocation } from '@tanstack/react-router';
import { Go } from '../ui/links';
import { Heading } from '../ui/heading';

export function NotFound() {
  const { pathname } = useLocation();
  return (
    <>
      <Heading>Not found</Heading>
      <p>
        There is no page at <code>{pathname}</code>. <Go to="/requests">All requests</Go>
      </p>
    </>
  );
}
