import type { RequestParent } from 'muster-client';
import { isStatus, muster, orNone } from '../../api';
import { openAction } from '../../actions/action';
import { ActionButton } from '../../actions/action-button';
import { requestActions } from '../../actions/request-actions';
import { runNow } from '../../actions/run-actions';
import { RequestStateMark } from '../../live/request-state';
import { type Trouble, troublesOf } from '../../live/troubles';
import { useRefusal } from '../../live/rights';
import { useTroubles } from '../../live/use-troubles';
import { CopyJson } from '../../ui/copy';
import { Go, paths, useFilters, useParam } from '../../ui/links';
import { MenuButton } from '../../ui/menu';
import { Panel, useRead } from '../../ui/read';
import { isLongRunning, requestTypes } from '../../ui/words';
import { quickLinks, view } from '../../view';
import { fillIn } from '../../ui/fill-in';
import { useStars } from '../requests/stars';
import { BackfillsTab } from './backfills-tab';
import { DeployInProgress } from './deploy-in-progress';
import { Expiring } from './expiring';
import { EndpointsTab } from './endpoints-tab';
import { DeploysTab } from './deploys-tab';
import { FlowTab } from './flow-tab';
import { HistoryTab } from './history-tab';
import { TasksTab } from './tasks-tab';
import { Overview } from './overview';
import { UsageTab } from './usage-tab';
import { useShuffleAction } from './shuffle';
import { Heading } from '../../ui/heading';

const tabs = ['overview', 'tasks', 'endpoints', 'backfills', 'flow', 'deploys', 'history', 'usage', 'config'] as const;
type Tab = (typeof tabs)[number];

/** Runs follow runs, and those of a schedule can be made up for: services have neither. Only a SERVICE gets calls. */
const tabsOf = ({ request: { requestType } }: RequestParent): readonly Tab[] =>
  tabs.filter(
    (tab) =>
      (tab !== 'endpoints' || requestType === 'SERVICE') &&
      (tab !== 'backfills' || requestType === 'SCHEDULED') &&
      (tab !== 'flow' || !isLongRunning(requestType)),
  );

export function Page() {
  const requestId = useParam('requestId');
  const [{ tab: asked }] = useFilters();
  const troubles = useTroubles();
  const tab = tabs.find((each) => each === asked) ?? 'overview';
  const request = useRead(['request', requestId, 'parent'], () => orNone(muster.requests.get({ requestId })));

  return (
    <Panel of={request}>
      {(parent) =>
        parent === null ? (
          <Gone requestId={requestId} />
        ) : (
          <>
            <Head parent={parent} troubles={troublesOf(parent, troubles)} />
            <Standing parent={parent} />
            <nav className="tabs" aria-label={`Parts of ${requestId}`}>
              {tabsOf(parent).map((each) => (
                <TabLink key={each} requestId={requestId} tab={each} isOpen={each === tab} />
              ))}
            </nav>
            <TabOf tab={tab} parent={parent} />
          </>
        )
      }
    </Panel>
  );
}

function TabLink({ requestId, tab, isOpen }: { requestId: string; tab: Tab; isOpen: boolean }) {
  return (
    <Go
      to={paths.request(requestId)}
      search={{ tab: tab === 'overview' ? undefined : tab }}
      className={isOpen ? 'tab open' : 'tab'}
    >
      {tab[0]!.toUpperCase() + tab.slice(1)}
    </Go>
  );
}

function TabOf({ tab, parent }: { tab: Tab; parent: RequestParent }) {
  const requestId = parent.request.id;
  switch (tab) {
    case 'tasks':
      return <TasksTab requestId={requestId} />;
    case 'endpoints':
      return <EndpointsTab requestId={requestId} />;
    case 'backfills':
      return <BackfillsTab parent={parent} />;
    case 'flow':
      return <FlowTab requestId={requestId} />;
    case 'deploys':
      return <DeploysTab parent={parent} />;
    case 'history':
      return <HistoryTab requestId={requestId} />;
    case 'usage':
      return <UsageTab parent={parent} />;
    case 'config':
      return <Config parent={parent} />;
    default:
      return <Overview parent={parent} />;
  }
}

function Head({ parent, troubles }: { parent: RequestParent; troubles: readonly Trouble[] }) {
  const { request } = parent;
  const { starred, toggle } = useStars();
  const args = useRead(
    ['request', request.id, 'args'],
    () => muster.history.commandLineArgs({ requestId: request.id, count: 5 }),
    {
      enabled: request.requestType === 'ON_DEMAND' || request.requestType === 'SCHEDULED',
    },
  );
  const shuffle = useShuffleAction(request.id);
  const given = requestActions(parent);
  const actions = [...given.map((action) => (action.id === 'run' ? runNow(parent, args.data) : action)), ...shuffle];
  const inBar = actions.filter(({ id }) => ['run', 'bounce', 'scale', 'pause', 'unpause'].includes(id));
  const inMenu = actions.filter((action) => !inBar.includes(action));
  const isStarred = starred.has(request.id);
  const unwritable = useRefusal({ requestId: request.id, scope: 'WRITE' });
  const undeployable = useRefusal({ requestId: request.id, scope: 'DEPLOY' });
  return (
    <div className="head">
      <button
        type="button"
        className="star"
        aria-label={`Star ${request.id}`}
        aria-pressed={isStarred}
        onClick={() => toggle(request.id)}
      >
        {isStarred ? '★' : '☆'}
      </button>
      <Heading>{request.id}</Heading>
      <span>{requestTypes[request.requestType] ?? request.requestType}</span>
      <RequestStateMark row={parent} troubles={troubles} />
      {request.group !== undefined && (
        <span>
          group <Go to={paths.group(request.group)}>{request.group}</Go>
        </span>
      )}
      <span className="grow" />
      <div className="buttons">
        {!view.hideNewDeployButton && undeployable === undefined && (
          <Go to={`${paths.request(request.id)}/deploy`} className="button primary">
            Deploy
          </Go>
        )}
        {inBar.map((action) => (
          <ActionButton key={action.id} action={action} />
        ))}
        {!view.hideNewRequestButton && unwritable === undefined && (
          <Go to={`/requests/edit/${encodeURIComponent(request.id)}`} className="button">
            Edit
          </Go>
        )}
        <MenuButton
          label="More"
          choices={inMenu.map((action) => ({
            label: action.label,
            onChoose: () => openAction.set(action),
            isDangerous: action.isDangerous ?? false,
            disabled: (action.id === 'roll-back' ? undeployable : unwritable) !== undefined,
          }))}
        />
      </div>
      {unwritable !== undefined && <span className="faint">{unwritable}</span>}
      <QuickLinkList parent={parent} />
    </div>
  );
}

function QuickLinkList({ parent }: { parent: RequestParent }) {
  const byType = quickLinks['request'] ?? {};
  const links = [...(byType['ALL'] ?? []), ...(byType[parent.request.requestType] ?? [])];
  return links
    .map(({ title, linkFormat }) => ({ title, href: fillIn(linkFormat, parent) }))
    .filter(({ href }) => /^https?:\/\//.test(href))
    .map(({ title, href }) => (
      <a key={title} href={href} rel="noopener">
        {title}
      </a>
    ));
}

/** What is under way and what will end by itself. */
function Standing({ parent }: { parent: RequestParent }) {
  return (
    <>
      {parent.pendingDeployState && <DeployInProgress parent={parent} pending={parent.pendingDeployState} />}
      <Expiring parent={parent} />
    </>
  );
}

function Config({ parent }: { parent: RequestParent }) {
  return (
    <>
      <p>
        <CopyJson value={parent.request} what="The request" />
      </p>
      <pre className="document">{JSON.stringify(parent.request, null, 2)}</pre>
      {parent.activeDeploy && (
        <>
          <h2>Active deploy</h2>
          <p>
            <CopyJson value={parent.activeDeploy} what="The deploy" />
          </p>
          <pre className="document">{JSON.stringify(parent.activeDeploy, null, 2)}</pre>
        </>
      )}
    </>
  );
}

/** A request that was removed has its history still; one that never was has none. */
function Gone({ requestId }: { requestId: string }) {
  const changes = useRead(['request', requestId, 'changes', 'gone'], () =>
    muster.history.changes({ requestId, count: 1 }).catch((cause: unknown) => {
      if (isStatus(cause, 404)) return [];
      throw cause;
    }),
  );
  return (
    <>
      <Heading>{requestId}</Heading>
      <Panel of={changes}>
        {(found) =>
          found.length === 0 ? (
            <p>
              There is no request of this id.{' '}
              <Go to="/requests" search={{ q: requestId }}>
                Look for one like it
              </Go>
            </p>
          ) : (
            <>
              <p className="notice">This request was removed. What is left is its history.</p>
              <HistoryTab requestId={requestId} />
              <h2>Tasks</h2>
              <TasksTab requestId={requestId} isGone />
            </>
          )
        }
      </Panel>
    </>
  );
}
