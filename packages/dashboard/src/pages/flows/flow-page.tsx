import type { Flow, FlowRun } from 'muster-client';
import { muster, orNone } from '../../api';
import { ActionButton } from '../../actions/action-button';
import { rerunFlow } from '../../actions/flow-actions';
import { Badge } from '../../ui/badge';
import { CopyJson } from '../../ui/copy';
import { Heading } from '../../ui/heading';
import { Go, paths, RequestLink, RunLog, useParam } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Steps } from '../../ui/steps-view';
import { Table, type Column } from '../../ui/table';
import { Lasted, Time } from '../../ui/time';
import { inWords } from '../../ui/words';

/** Runs that follow each other: which came after which, how each ended, and how the flow goes on from one of them. */
export function Page() {
  const flowId = useParam('flowId');
  const read = useRead(['flows', flowId], () => orNone(muster.flows.get({ flowId })));
  return <Panel of={read}>{(flow) => (flow === null ? <Unknown flowId={flowId} /> : <Known flow={flow} />)}</Panel>;
}

function Unknown({ flowId }: { flowId: string }) {
  return (
    <>
      <Heading>Not found</Heading>
      <p>
        There is no flow <code>{flowId}</code>. A flow is there once its first run has ended, until it is too old.
      </p>
    </>
  );
}

function Known({ flow }: { flow: Flow }) {
  const { runs } = flow;
  const byTask = new Map(runs.map((run) => [run.taskId, run]));
  const parentsOf = ({ parentRuns }: FlowRun) => parentRuns.flatMap((taskId) => byTask.get(taskId) ?? []);
  const newest = new Map(runs.map((run) => [run.requestId, run]));
  const isNewest = (run: FlowRun): boolean => newest.get(run.requestId) === run;
  return (
    <>
      <div className="head">
        <Heading>Flow{flow.requestId !== undefined && ` of ${flow.requestId}`}</Heading>
        <Counts runs={[...newest.values()]} />
        <span>
          began <Time at={flow.startedAt} />
        </span>
        <span className="grow" />
        <CopyJson value={flow} what="The flow" />
      </div>
      <p className="faint">
        <code>{flow.id}</code>
      </p>
      {flow.refusedRuns > 0 && (
        <p className="notice warn">The flow has as many runs as it may have; {flow.refusedRuns} more were not made.</p>
      )}
      <Steps label="Runs in steps" nodes={runs} idOf={keyOf} parentsOf={(run) => parentsOf(run).map(keyOf)}>
        {(run) => <Run run={run} parents={parentsOf(run)} />}
      </Steps>
      <h2>Runs</h2>
      <Table
        label="Runs of the flow"
        rows={runs}
        columns={columnsOf(flow.id, isNewest)}
        keyOf={keyOf}
        empty="It has no run that you may see."
      />
    </>
  );
}

const keyOf = ({ requestId, runId }: FlowRun): string => `${requestId} ${runId}`;

const states = ['FAILURE', 'ACTIVE', 'WAITING', 'SUCCESS', 'DROPPED'] as const;

/** Of the newest run of each request: what was run again counts no more. */
const Counts = ({ runs }: { runs: readonly FlowRun[] }) =>
  states.map((state) => {
    const count = runs.filter((run) => run.state === state).length;
    return (
      count > 0 && (
        <span key={state}>
          <Badge of="run of a flow" state={state} /> {count}
        </span>
      )
    );
  });

function Run({ run, parents }: { run: FlowRun; parents: readonly FlowRun[] }) {
  return (
    <>
      <p>
        <RequestLink id={run.requestId} />
      </p>
      <p>
        <Badge of="run of a flow" state={run.state} /> <Log run={run} />
      </p>
      {parents.length > 0 && <p className="faint">after {parents.map(({ requestId }) => requestId).join(', ')}</p>}
    </>
  );
}

const Log = ({ run: { requestId, runId, taskId, state } }: { run: FlowRun }) => (
  <RunLog {...{ requestId, runId, taskId }} isActive={state === 'ACTIVE'} />
);

const columnsOf = (flowId: string, isNewest: (run: FlowRun) => boolean): readonly Column<FlowRun>[] => [
  {
    id: 'request',
    title: 'Request',
    value: ({ requestId }) => requestId,
    cell: ({ requestId }) => <RequestLink id={requestId} />,
  },
  {
    id: 'state',
    title: 'State',
    value: ({ state }) => state,
    cell: ({ state, taskState }) => (
      <>
        <Badge of="run of a flow" state={state} />{' '}
        {taskState !== undefined && state === 'FAILURE' && <Badge of="task" state={taskState} />}
      </>
    ),
  },
  {
    id: 'trigger',
    title: 'Because',
    value: ({ trigger = '' }) => trigger,
    cell: ({ trigger }) => trigger !== undefined && inWords(trigger),
  },
  { id: 'ended', title: 'Ended', value: ({ endedAt = 0 }) => endedAt, cell: ({ endedAt }) => <Time at={endedAt} /> },
  {
    id: 'lasted',
    title: 'Lasted',
    value: ({ queuedAt, endedAt }) => (queuedAt === undefined ? 0 : (endedAt ?? Date.now()) - queuedAt),
    cell: ({ queuedAt, endedAt }) => queuedAt !== undefined && <Lasted from={queuedAt} to={endedAt} />,
  },
  {
    id: 'task',
    title: 'Task',
    cell: ({ taskId, outputsProblem }) => (
      <>
        {taskId !== undefined && <Go to={paths.task(taskId)}>{taskId}</Go>}
        {outputsProblem !== undefined && <p className="faint">Its outputs.json is not passed on: {outputsProblem}</p>}
      </>
    ),
  },
  { id: 'log', title: 'Log', cell: (run) => <Log run={run} /> },
  {
    id: 'do',
    title: '',
    cell: (run) =>
      run.endedAt !== undefined &&
      isNewest(run) && <ActionButton className="quiet" action={rerunFlow(flowId, run.requestId)} />,
  },
];
