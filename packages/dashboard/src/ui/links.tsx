import type { ReactNode } from 'react';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { logPathOf, view } from '../view';
import { inTaskIds } from './find';

interface GoProps {
  /** Path below the page's own, its parts encoded. */
  to: string;
  search?: Readonly<Record<string, string | undefined>>;
  hash?: string;
  className?: string;
  children: ReactNode;
}

export const Go = ({ to, search, hash, className, children }: GoProps) => (
  <Link
    to={to}
    search={search ?? {}}
    {...(hash !== undefined && { hash })}
    {...(className !== undefined && { className })}
  >
    {children}
  </Link>
);

const part = encodeURIComponent;
export const paths = {
  request: (id: string) => `/request/${part(id)}`,
  deploy: (requestId: string, deployId: string) => `/request/${part(requestId)}/deploy/${part(deployId)}`,
  task: (id: string) => `/task/${part(id)}`,
  tail: (taskId: string, file: string) => `/task/${part(taskId)}/tail/${file.split('/').map(part).join('/')}`,
  files: (taskId: string, folder: string) => `/task/${part(taskId)}/files/${folder.split('/').map(part).join('/')}`,
  run: (requestId: string, runId: string) => `/request/${part(requestId)}/run/${part(runId)}`,
  group: (id: string) => `/group/${part(id)}`,
  flow: (id: string) => `/flows/${part(id)}`,
};

export const RequestLink = ({ id }: { id: string }) => <Go to={paths.request(id)}>{id}</Go>;
export const DeployLink = ({ requestId, deployId }: { requestId: string; deployId: string }) => (
  <Go to={paths.deploy(requestId, deployId)}>{deployId}</Go>
);

/** The log of a run; one that has not ended is found by its id. */
export function RunLog(props: { requestId: string; runId: string; taskId: string | undefined; isActive: boolean }) {
  const { requestId, runId, taskId, isActive } = props;
  if (taskId !== undefined) return <Go to={paths.tail(taskId, logPathOf(taskId, true))}>log</Go>;
  return isActive ? (
    <Go to={paths.run(requestId, runId)} search={{ show: 'log' }}>
      log
    </Go>
  ) : null;
}

export const FlowLink = ({ id }: { id: string }) => <Go to={paths.flow(id)}>flow</Go>;

/** A machine by its host name, without the end that all of them have; it leads to the tasks there. */
export const HostLink = ({ host }: { host: string }) => (
  <Go to="/tasks" search={{ q: host }}>
    {shortHost(host)}
  </Go>
);

export const shortHost = (host: string): string => {
  const end = view.commonHostnameSuffixToOmit;
  return end !== '' && (host.endsWith(end) || host.endsWith(inTaskIds(end))) ? host.slice(0, -end.length) : host;
};

export function useParam(name: string): string {
  const params: Record<string, string | undefined> = useParams({ strict: false });
  return params[name] ?? '';
}

/** The filters of a page, which are its address. A change takes no step in the history unless it is asked to. */
export function useFilters(): readonly [
  Readonly<Record<string, string | undefined>>,
  (change: Readonly<Record<string, string | undefined>>, options?: { step?: boolean }) => void,
] {
  const search: Record<string, string | undefined> = useSearch({ strict: false });
  const navigate = useNavigate();
  return [
    search,
    (change, { step = false } = {}) => {
      const next = Object.fromEntries(Object.entries({ ...search, ...change }).filter(([, value]) => value));
      void navigate({ to: '.', search: next as never, replace: !step, resetScroll: false });
    },
  ];
}
