import { muster } from '../../api';
import { useRead } from '../../ui/read';
import { Go, paths } from '../../ui/links';
import { plainText } from '../../logs/ansi';

const BYTES = 4_096;
const LINES = 10;

/** The end of a file of a task, where there is one. */
export async function lastLines(taskId: string, path: string): Promise<string> {
  const { offset: size } = await muster.sandbox.read({ taskId, path, offset: -1 });
  const { data } = await muster.sandbox.read({ taskId, path, offset: Math.max(0, size - BYTES), length: BYTES });
  const lines = data.split('\n').filter((line) => line !== '');
  return lines.slice(-LINES).map(plainText).join('\n');
}

export function LastLines({ taskId, file }: { taskId: string; file: string }) {
  const read = useRead(['task', taskId, 'last-lines', file], () => lastLines(taskId, file).catch(() => ''));
  return (
    <>
      {read.data === '' && <p className="faint">Nothing stands in {file}.</p>}
      {read.data !== undefined && read.data !== '' && (
        <pre className="log-end" aria-label={`Last lines of ${file}`}>
          {read.data}
        </pre>
      )}
      <p>
        <Go to={paths.tail(taskId, 'stdout')}>stdout</Go> · <Go to={paths.tail(taskId, 'stderr')}>stderr</Go>
      </p>
    </>
  );
}
