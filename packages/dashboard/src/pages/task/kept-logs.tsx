import type { ObjstoreLog, TaskHistory } from 'muster-client';
import { isStatus, muster } from '../../api';
import { formatBytes } from '../../ui/duration';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { view } from '../../view';

/** The first part of a key, less what all keys begin with, is the folder that it is shown in. */
export const shortKey = (key: string, omit: string): string =>
  omit !== '' && key.startsWith(omit) ? key.slice(omit.length) : key;

const columns: readonly Column<ObjstoreLog>[] = [
  {
    id: 'key',
    title: 'File',
    value: ({ key }) => key,
    cell: ({ key }) => <code>{shortKey(key, view.taskS3LogOmitPrefix)}</code>,
  },
  { id: 'size', title: 'Size', align: 'end', value: ({ size }) => size, cell: ({ size }) => formatBytes(size) },
  {
    id: 'from',
    title: 'From',
    value: ({ startTime }) => startTime ?? 0,
    cell: ({ startTime }) => <Time at={startTime} />,
  },
  {
    id: 'to',
    title: 'To',
    value: ({ endTime, lastModified }) => endTime ?? lastModified,
    cell: ({ endTime, lastModified }) => <Time at={endTime ?? lastModified} />,
  },
  {
    id: 'do',
    title: '',
    cell: ({ getUrl, downloadUrl }) => (
      <>
        {getUrl !== undefined && (
          <a href={getUrl} rel="noopener">
            Open
          </a>
        )}{' '}
        {downloadUrl !== undefined && (
          <a href={downloadUrl} rel="noopener">
            Download
          </a>
        )}
      </>
    ),
  },
];

export function KeptLogs({ history }: { history: TaskHistory }) {
  const { id, startedAt } = history.task.taskId;
  const read = useRead(['logs', id], () =>
    muster.logs.ofTask({ taskId: id }).catch((cause: unknown) => {
      if (isStatus(cause, 404, 500)) return [];
      throw cause;
    }),
  );
  return (
    <Panel of={read}>
      {(logs) => (
        <Table
          label="Kept logs"
          rows={logs.map((log) => ({ ...log, startTime: log.startTime ?? startedAt }))}
          columns={columns}
          keyOf={({ key }) => key}
          empty="None is kept, or not yet."
        />
      )}
    </Panel>
  );
}
