import type { SandboxFile } from 'muster-client';
import { download, isStatus, muster } from '../../api';
import { formatBytes } from '../../ui/duration';
import { Go, paths } from '../../ui/links';
import { Panel, failureText, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { toast } from '../../ui/toasts';

const LATELY_MS = 60_000;
const packed = /\.(zip|gz|jar|bz2|so|png|jpe?g|pdf)$/i;
/** Opened in a tab of their own; the service serves them so that no script in them runs as this page. */
const viewable = /\.(svg|txt|jpe?g|gif|png|pdf|html)$/i;

const isFolder = ({ mode }: SandboxFile): boolean => mode.startsWith('d');

/** What lies in the folder of a task. */
export function Files({ taskId, folder }: { taskId: string; folder: string }) {
  const read = useRead(
    ['files', taskId, folder],
    () =>
      muster.sandbox.browse({ taskId, path: folder }).catch((cause: unknown) => {
        if (isStatus(cause, 400, 404)) return failureText(cause);
        throw cause;
      }),
    { everyMs: 10_000 },
  );
  return (
    <Panel of={read}>
      {(found) => {
        if (typeof found === 'string') return <p className="empty">{found}</p>;
        const at = (name: string) => (folder === '' ? name : `${folder}/${name}`);
        const full = (name: string) =>
          [found.fullPathToRoot, found.currentDirectory, name].filter((each) => each !== '').join('/');
        const save = (name: string) =>
          download(found.slaveHostname, full(name), name).catch((cause: unknown) =>
            toast.add({ title: `${name} was not read`, description: failureText(cause), type: 'bad' }),
          );
        const columns: readonly Column<SandboxFile>[] = [
          {
            id: 'name',
            title: 'Name',
            value: (file) => `${isFolder(file) ? 0 : 1}${file.name}`,
            cell: (file) => <Name taskId={taskId} file={file} path={at(file.name)} />,
          },
          { id: 'size', title: 'Size', align: 'end', value: ({ size }) => size, cell: ({ size }) => formatBytes(size) },
          {
            id: 'mtime',
            title: 'Changed',
            value: ({ mtime }) => mtime,
            cell: ({ mtime }) => (
              <span className={Date.now() - mtime * 1_000 < LATELY_MS ? 'fresh' : undefined}>
                <Time at={mtime * 1_000} />
              </span>
            ),
          },
          {
            id: 'do',
            title: '',
            cell: (file) =>
              !isFolder(file) && (
                <>
                  <button type="button" className="quiet" onClick={() => void save(file.name)}>
                    Download
                  </button>
                  {viewable.test(file.name) && (
                    <button
                      type="button"
                      className="quiet"
                      onClick={() => void open(found.slaveHostname, full(file.name), file.name)}
                    >
                      Open
                    </button>
                  )}
                </>
              ),
          },
        ];
        return (
          <>
            {folder !== '' && (
              <p>
                <Go to={paths.files(taskId, folder.split('/').slice(0, -1).join('/'))}>Up</Go> <code>{folder}</code>
              </p>
            )}
            <Table
              label="Files"
              rows={found.files}
              columns={columns}
              keyOf={({ name }) => name}
              empty="Nothing is here."
            />
          </>
        );
      }}
    </Panel>
  );
}

function Name({ taskId, file, path }: { taskId: string; file: SandboxFile; path: string }) {
  if (isFolder(file)) return <Go to={paths.files(taskId, path)}>{file.name}/</Go>;
  if (packed.test(file.name)) return <span>{file.name}</span>;
  return <Go to={paths.tail(taskId, path)}>{file.name}</Go>;
}

const types: Readonly<Record<string, string>> = {
  svg: 'text/plain',
  html: 'text/plain',
  txt: 'text/plain',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  png: 'image/png',
  pdf: 'application/pdf',
};

/** A file of a task may hold anything: what could run a script is shown as its text. */
async function open(slaveHostname: string, path: string, name: string): Promise<void> {
  const tab = window.open('', '_blank');
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  try {
    for await (const piece of await muster.tasks.open({ slaveHostname, path }, { timeoutMs: 0 }))
      pieces.push(new Uint8Array(piece));
    const type = types[name.split('.').at(-1)!.toLowerCase()] ?? 'text/plain';
    const url = URL.createObjectURL(new Blob(pieces, { type }));
    if (tab) tab.location.href = url;
  } catch (cause) {
    tab?.close();
    toast.add({ title: `${name} was not read`, description: failureText(cause), type: 'bad' });
  }
}
