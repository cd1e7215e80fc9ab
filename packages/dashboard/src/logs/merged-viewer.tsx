import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { Failure } from '../ui/read';
import { LogLines, type LinesHandle } from './lines';
import { merged } from './merge';
import { LogReader, type LogView } from './reader';
import { expressionOf } from './scan';

export interface MergedSource {
  readonly taskId: string;
  readonly path: string;
  readonly label: string;
}

/** Several logs as one, in the order of the times in their lines; each line names its instance. */
export function MergedViewer({ sources }: { sources: readonly MergedSource[] }) {
  const key = sources.map(({ taskId, path }) => `${taskId}\n${path}`).join('\n');
  const [readers, setReaders] = useState<readonly LogReader[]>([]);
  useEffect(() => {
    const fresh = sources.map(({ taskId, path }) => new LogReader(taskId, path));
    setReaders(fresh);
    for (const reader of fresh) void reader.open();
    return () => {
      for (const reader of fresh) reader.close();
    };
    // The key says which they are.
  }, [key]);
  return readers.length === sources.length && <Open key={key} sources={sources} readers={readers} />;
}

function useViews(readers: readonly LogReader[]): readonly LogView[] {
  const known = useRef<readonly LogView[]>([]);
  const read = (): readonly LogView[] => {
    const views = readers.map(({ view }) => view.get());
    if (views.length !== known.current.length || views.some((view, index) => view !== known.current[index]))
      known.current = views;
    return known.current;
  };
  return useSyncExternalStore((listener) => {
    const leave = readers.map(({ view }) => view.subscribe(listener));
    return () => leave.forEach((each) => each());
  }, read);
}

function Open({ sources, readers }: { sources: readonly MergedSource[]; readers: readonly LogReader[] }) {
  const views = useViews(readers);
  const [text, setText] = useState('');
  const lines = useRef<LinesHandle>(null);
  const isFollowing = views.every((view) => view.isFollowing);
  const expression = useMemo(() => expressionOf(text, { isRegExp: true, matchCase: false }), [text]);
  const shown = useMemo(() => {
    const all = merged(views.map((view, index) => ({ label: sources[index]!.label, lines: view.lines })));
    if (!expression) return all;
    return all.filter((line) => {
      expression.lastIndex = 0;
      return expression.test(line.text);
    });
  }, [views, sources, expression]);
  const view: LogView = {
    lines: shown,
    start: 0,
    end: 0,
    size: 0,
    isFollowing,
    isMissing: false,
    failure: undefined,
    prepended: 0,
    dropped: 0,
  };
  const failure = views.find((each) => each.failure !== undefined && !each.isMissing)?.failure;
  const follow = (on: boolean) => readers.forEach((reader) => reader.follow(on));
  return (
    <section className="log" aria-label="Logs of all, merged">
      <div className="log-bar">
        <input
          type="search"
          aria-label="Show lines that match"
          placeholder="Show lines that match; an expression"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="button" onClick={() => readers.forEach((reader) => void reader.older())}>
          Read what is older
        </button>
        <button type="button" onClick={() => follow(true)}>
          End
        </button>
      </div>
      {failure !== undefined && <Failure cause={failure} />}
      <LogLines
        ref={lines}
        view={view}
        wraps={false}
        expression={expression}
        marked={undefined}
        onMark={() => undefined}
        onTop={() => undefined}
        onBottom={() => undefined}
        onFollow={follow}
      />
      <p className="log-foot" role="status">
        {isFollowing ? 'Following' : 'Following paused'}
      </p>
    </section>
  );
}
