import type { TaskHistory } from 'muster-client';
import { Table } from '../../ui/table';

/** What it was started with. Values that are secret come masked from the service. */
export function Details({ history }: { history: TaskHistory }) {
  const { task } = history;
  const { deploy, pendingTask } = task.taskRequest;
  const env = Object.entries({
    ...deploy.env,
    ...deploy.taskEnv?.[String(task.taskId.instanceNo)],
    ...pendingTask.envOverrides,
  });
  const labels = Object.entries({ ...deploy.labels, ...deploy.taskLabels?.[String(task.taskId.instanceNo)] });
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Task id', task.taskId.id],
    ['Directory', history.directory],
    ['Container', history.containerId],
    ['Command', deploy.command ?? deploy.customExecutorCmd],
    ['Arguments', (pendingTask.cmdLineArgsList ?? deploy.arguments)?.join(' ')],
    ['Ports', portsOf(task.clusterTask?.resources)],
    ['Run', pendingTask.runId],
    ['After tasks', pendingTask.parentRuns?.join(', ')],
    ['Asked for by', pendingTask.user],
    ['Message', pendingTask.message],
    ['Labels', labels.map(([name, value]) => `${name}=${value}`).join(', ')],
  ];
  return (
    <>
      <dl className="facts wide">
        {facts
          .filter(([, value]) => value !== undefined && value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          ))}
      </dl>
      <h2>Environment</h2>
      <Table
        label="Environment"
        rows={env}
        keyOf={([name]) => name}
        empty="The deploy sets no variables."
        columns={[
          { id: 'name', title: 'Name', value: ([name]) => name, cell: ([name]) => <code>{name}</code> },
          { id: 'value', title: 'Value', value: ([, value]) => value, cell: ([, value]) => <code>{value}</code> },
        ]}
      />
    </>
  );
}

function portsOf(resources: readonly object[] | undefined): string | undefined {
  const ports = resources?.find((each) => (each as { name?: string }).name === 'ports') as
    { ranges?: { range?: { begin?: number; end?: number }[] } } | undefined;
  return ports?.ranges?.range
    ?.flatMap(({ begin = 0, end = 0 }) =>
      Array.from({ length: Math.min(100, end - begin + 1) }, (_each, index) => begin + index),
    )
    .join(', ');
}
