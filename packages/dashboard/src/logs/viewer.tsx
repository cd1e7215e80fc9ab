import { useEffect, useRef, useState, type ReactNode } from 'react';
import { download } from '../api';
import { useSignal } from '../live/signal';
import { formatBytes } from '../ui/duration';
import { Failure } from '../ui/read';
import { LogLines, type LinesHandle } from './lines';
import { LogReader } from './reader';
import { SearchBar } from './search-bar';
import { fileOf } from './search';

export interface LogViewerProps {
  readonly taskId: string;
  readonly path: string;
  readonly hasEnded: boolean;
  /** Where to begin in place of the end. */
  readonly at: number | undefined;
  /** Told the position of the line whose link was asked for. */
  readonly onMark: (at: number) => void;
  readonly missing: ReactNode;
  readonly title?: ReactNode;
}

/** One file of one task: followed at its end, scrolled to its beginning, searched as a whole. */
export function LogViewer(props: LogViewerProps) {
  const { taskId, path, at } = props;
  const [reader, setReader] = useState<LogReader>();
  useEffect(() => {
    const fresh = new LogReader(taskId, path);
    setReader(fresh);
    void fresh.open(at);
    return () => fresh.close();
    // `at` is where it begins; a line that is marked later does not have it begin anew.
  }, [taskId, path]);
  return reader && <OpenLog {...props} reader={reader} />;
}

function OpenLog(props: LogViewerProps & { reader: LogReader }) {
  const { taskId, path, hasEnded, at, reader } = props;
  const view = useSignal(reader.view);
  const [wraps, setWraps] = useState(false);
  const [expression, setExpression] = useState<RegExp>();
  const lines = useRef<LinesHandle>(null);
  const seenLines = useRef(0);

  useEffect(() => {
    reader.hasEnded = hasEnded;
  }, [reader, hasEnded]);

  const goTo = (position: number | undefined) => void reader.open(position).then(() => lines.current?.show(position));
  if (view.isFollowing) seenLines.current = view.size;
  const unseen = view.size - seenLines.current;
  return (
    <section className="log" aria-label={`${path} of ${taskId}`}>
      <div className="log-bar">
        {props.title}
        <SearchBar file={{ taskId, path, size: view.size }} onExpression={setExpression} onGo={goTo} />
        <label className="check">
          <input type="checkbox" checked={wraps} onChange={(event) => setWraps(event.target.checked)} /> Wrap
        </label>
        <button type="button" onClick={() => goTo(0)}>
          Top
        </button>
        <button type="button" onClick={() => goTo(undefined)}>
          End
        </button>
        <button type="button" onClick={() => void save(taskId, path)}>
          Download
        </button>
        <Position start={view.isFollowing ? view.size : view.start} size={view.size} onGo={goTo} />
      </div>
      {view.isMissing
        ? props.missing
        : view.failure !== undefined && <Failure cause={view.failure} retry={() => goTo(at)} />}
      <LogLines
        ref={lines}
        view={view}
        wraps={wraps}
        expression={expression}
        marked={at}
        onMark={props.onMark}
        onTop={() => void reader.older()}
        onBottom={() => void reader.newer()}
        onFollow={(on) => reader.follow(on)}
      />
      <p className="log-foot" role="status">
        {view.isFollowing ? (
          hasEnded ? (
            'The task has ended; this is all of it.'
          ) : (
            'Following'
          )
        ) : (
          <>
            Following paused{unseen > 0 && `, ${formatBytes(unseen)} more`}{' '}
            <button type="button" onClick={() => goTo(undefined)}>
              Jump to the end
            </button>
          </>
        )}
      </p>
    </section>
  );
}

/** Where in the file this is, and a way to any other place of it. */
function Position({ start, size, onGo }: { start: number; size: number; onGo: (at: number) => void }) {
  const [chosen, setChosen] = useState<number>();
  const go = () => {
    if (chosen !== undefined) onGo(chosen);
    setChosen(undefined);
  };
  return (
    <label className="position">
      <span className="hidden">Position in the file</span>
      <input
        type="range"
        min={0}
        max={size}
        value={chosen ?? start}
        onChange={(event) => setChosen(Number(event.target.value))}
        onPointerUp={go}
        onKeyUp={go}
      />
      <span>
        {formatBytes(chosen ?? start)} of {formatBytes(size)}
      </span>
    </label>
  );
}

async function save(taskId: string, path: string): Promise<void> {
  const file = await fileOf(taskId, path);
  await download(file.slaveHostname, file.path, `${taskId}-${path.split('/').at(-1)!}`);
}
