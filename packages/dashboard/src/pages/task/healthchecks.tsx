import type { HealthcheckOptions, TaskHealthcheckResult, TaskHistory } from 'muster-client';
import { Mark } from '../../ui/badge';
import { formatDuration } from '../../ui/duration';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { view } from '../../view';

const columns: readonly Column<TaskHealthcheckResult>[] = [
  { id: 'at', title: 'When', value: ({ timestamp }) => timestamp, cell: ({ timestamp }) => <Time at={timestamp} /> },
  {
    id: 'status',
    title: 'Answer',
    value: ({ statusCode }) => statusCode ?? 0,
    cell: (check) => <Mark tone={isGood(check) ? 'good' : 'bad'}>{check.statusCode ?? 'none'}</Mark>,
  },
  {
    id: 'took',
    title: 'Took',
    value: ({ durationMillis }) => durationMillis ?? 0,
    cell: ({ durationMillis }) => (durationMillis === undefined ? '–' : formatDuration(durationMillis)),
  },
  {
    id: 'body',
    title: 'Says',
    cell: ({ errorMessage, responseBody }) => <pre className="short">{errorMessage ?? responseBody}</pre>,
  },
];

const isGood = ({ statusCode }: TaskHealthcheckResult): boolean => statusCode !== undefined && statusCode < 400;

export function Healthchecks({ history }: { history: TaskHistory }) {
  const checks = history.healthcheckResults.toSorted((a, b) => b.timestamp - a.timestamp);
  return (
    <>
      <Rule options={history.task.taskRequest.deploy.healthcheck} />
      <Table
        label="Health checks"
        rows={checks}
        columns={columns}
        keyOf={({ timestamp }) => String(timestamp)}
        empty="None was made."
      />
    </>
  );
}

function Rule({ options }: { options: HealthcheckOptions | undefined }) {
  if (!options) return <p>Its deploy has no health check.</p>;
  const interval = options.intervalSeconds ?? view.defaultHealthcheckIntervalSeconds;
  const timeout = options.responseTimeoutSeconds ?? view.defaultHealthcheckTimeoutSeconds;
  const startup = options.startupTimeoutSeconds ?? view.defaultStartupTimeoutSeconds;
  const retries = options.maxRetries ?? view.defaultHealthcheckMaxRetries;
  return (
    <>
      <p>
        {wayOf(options)} every {interval} s, each within {timeout} s; it may take {startup} s to listen, and{' '}
        {retries === 0 ? 'any number of checks may fail' : `${retries} checks may fail`} before the task is given up.
      </p>
      {options.liveness && <Liveness options={options.liveness} />}
    </>
  );
}

function wayOf({ type = 'HTTP', command, method = 'GET', uri, healthcheckResultFilePath }: HealthcheckOptions) {
  if (type === 'TCP') return 'A connection to its port';
  if (type === 'GRPC') return 'A call of its gRPC health service';
  const text = type === 'COMMAND' ? command : uri === undefined ? healthcheckResultFilePath : `${method} ${uri}`;
  return <code>{text}</code>;
}

const Liveness = ({ options }: { options: NonNullable<HealthcheckOptions['liveness']> }) => (
  <p>
    Once it has passed, {options.uri === undefined ? 'it is checked in the same way' : <code>{options.uri}</code>} every{' '}
    {options.intervalSeconds ?? 10} s: after {options.failureThreshold ?? 3} failures in a row the task is unhealthy,
    and {options.action === 'NONE' ? 'this is reported' : 'is replaced'}.
  </p>
);
