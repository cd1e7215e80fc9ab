import { useMemo, useState } from 'react';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { hasEnded } from 'muster-client';
import { muster, orNone } from '../../api';
import { MergedViewer, type MergedSource } from '../../logs/merged-viewer';
import { LogViewer } from '../../logs/viewer';
import { Go, paths, useFilters, useParam } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { logPathOf, view } from '../../view';
import { Badge } from '../../ui/badge';
import { Heading } from '../../ui/heading';

const MOST = 8;

/** Logs of one task, of instances of a request, or of tasks that the address names, side by side. */
export function Page() {
  const taskId = useParam('taskId');
  const requestId = useParam('requestId');
  const path = useParam('_splat');
  const [{ taskIds }] = useFilters();
  if (taskId !== '') return <Logs title={taskId} taskIds={[taskId]} path={path} />;
  if (requestId !== '') return <OfRequest requestId={requestId} path={path} />;
  return (
    <Logs
      title="Logs"
      taskIds={(taskIds ?? '')
        .split(',')
        .filter((id) => id !== '')
        .slice(0, MOST)}
      path={path}
    />
  );
}

function OfRequest({ requestId, path }: { requestId: string; path: string }) {
  const [{ instance }, setFilters] = useFilters();
  const active = useRead(['request', requestId, 'active', 'ids'], () =>
    muster.history.activeTasksOfRequest({ requestId }),
  );
  const wanted = new Set((instance ?? '1,2,3').split(',').map(Number));
  return (
    <Panel of={active}>
      {(tasks) => {
        const numbers = [...new Set(tasks.map(({ taskId }) => taskId.instanceNo))].sort((a, b) => a - b);
        const shown = tasks.filter(({ taskId }) => wanted.has(taskId.instanceNo)).slice(0, MOST);
        const toggle = (number: number) => {
          const next = new Set(wanted);
          if (!next.delete(number)) next.add(number);
          setFilters({ instance: [...next].sort((a, b) => a - b).join(',') });
        };
        return (
          <>
            <Logs
              title={requestId}
              back={paths.request(requestId)}
              taskIds={shown.map(({ taskId }) => taskId.id)}
              path={path}
            />
            <fieldset className="instances">
              <legend>Instances</legend>
              {numbers.map((number) => (
                <label key={number} className="check">
                  <input type="checkbox" checked={wanted.has(number)} onChange={() => toggle(number)} /> {number}
                </label>
              ))}
            </fieldset>
          </>
        );
      }}
    </Panel>
  );
}

function Logs({
  title,
  back,
  taskIds,
  path,
}: {
  title: string;
  back?: string;
  taskIds: readonly string[];
  path: string;
}) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [{ view: how }, setFilters] = useFilters();
  const isMerged = how === 'merged';
  const shown = taskIds.filter((id) => !closed.has(id));
  return (
    <>
      <div className="head">
        <Heading>Log of {title}</Heading>
        <Go to={back ?? (taskIds.length === 1 ? paths.task(taskIds[0]!) : '/tasks')}>Back</Go>
      </div>
      {shown.length === 0 && <p className="empty">No task is chosen.</p>}
      {shown.length > 1 && (
        <div className="tabs" role="group" aria-label="Show them">
          <button
            type="button"
            className="tab"
            aria-pressed={!isMerged}
            onClick={() => setFilters({ view: undefined })}
          >
            Side by side
          </button>
          <button type="button" className="tab" aria-pressed={isMerged} onClick={() => setFilters({ view: 'merged' })}>
            Merged by time
          </button>
        </div>
      )}
      {isMerged && shown.length > 1 ? (
        <MergedViewer sources={shown.map((taskId, index) => sourceOf(taskId, path, index))} />
      ) : (
        <div className="logs" data-count={shown.length}>
          {shown.map((id) => (
            <OneLog
              key={id}
              taskId={id}
              path={path}
              close={shown.length > 1 ? () => setClosed(new Set([...closed, id])) : undefined}
              only={shown.length > 1 ? () => setClosed(new Set(taskIds.filter((each) => each !== id))) : undefined}
            />
          ))}
        </div>
      )}
    </>
  );
}

/** Ids of tasks have the number of the instance behind their start. */
const sourceOf = (taskId: string, path: string, index: number): MergedSource => ({
  taskId,
  path: path.replaceAll('$TASK_ID', taskId),
  label: /-\d{13}-(\d+)-/.exec(taskId)?.[1] ?? String(index + 1),
});

interface OneLogProps {
  readonly taskId: string;
  readonly path: string;
  readonly close: (() => void) | undefined;
  readonly only: (() => void) | undefined;
}

function OneLog({ taskId, path, close, only }: OneLogProps) {
  const file = path.replaceAll('$TASK_ID', taskId);
  const { hash } = useLocation();
  const navigate = useNavigate();
  const [{ offset }] = useFilters();
  const fromAddress = /^L(\d+)$/.exec(hash)?.[1] ?? offset;
  const at = useMemo(() => (fromAddress === undefined ? undefined : Number(fromAddress)), [fromAddress]);
  const state = useRead(['task', taskId, 'state'], () => orNone(muster.track.task({ taskId })));
  const ended = hasEnded(state.data?.currentState);
  const other = logPathOf(taskId, true);
  return (
    <LogViewer
      taskId={taskId}
      path={file}
      hasEnded={ended}
      at={at}
      onMark={(position) => void navigate({ to: '.', search: true as never, hash: `L${position}`, replace: true })}
      title={
        <span className="log-title">
          <Go to={paths.task(taskId)}>{taskId}</Go> <Badge of="task" state={state.data?.currentState} />{' '}
          <FileChoice taskId={taskId} file={file} />
          {view.lessTerminalPath !== '' && <Terminal taskId={taskId} host={state.data?.taskId?.host ?? ''} />}
          {only && (
            <button type="button" className="quiet" onClick={only}>
              Only this
            </button>
          )}
          {close && (
            <button type="button" className="quiet" aria-label={`Close ${taskId}`} onClick={close}>
              ×
            </button>
          )}
        </span>
      }
      missing={
        <p className="notice">
          There is no {file} {ended ? 'any more' : 'yet'}.{' '}
          {ended && other !== file && <Go to={paths.tail(taskId, other)}>The log of the finished task</Go>}{' '}
          <Go to={paths.task(taskId)}>Kept logs and files</Go>
        </p>
      }
    />
  );
}

function FileChoice({ taskId, file }: { taskId: string; file: string }) {
  return ['stdout', 'stderr'].map((each) => (
    <Go key={each} to={paths.tail(taskId, each)} className={each === file ? 'tab open' : 'tab'}>
      {each}
    </Go>
  ));
}

function Terminal({ taskId, host }: { taskId: string; host: string }) {
  const href = view.lessTerminalPath.replaceAll('$HOST', host).replaceAll('$TASK', taskId);
  return <a href={href}>In a terminal</a>;
}
