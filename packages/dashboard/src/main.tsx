import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { LiveStream } from './live/stream';
import { session } from './session';
import { showTheme } from './preferences';
import { router } from './routes';
import { Toasts } from './ui/toasts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';

const queries = new QueryClient({
  // The client repeats what can be repeated; events say when to read again.
  defaultOptions: { queries: { retry: false, staleTime: 2_000, networkMode: 'always' } },
});
const stream = new LiveStream(queries);
let state = session.state.get();
session.state.subscribe(() => {
  const was = state;
  state = session.state.get();
  if (was === 'out' && state === 'in') stream.restart();
});

showTheme();
stream.start();
createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
