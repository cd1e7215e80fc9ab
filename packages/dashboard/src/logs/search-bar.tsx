import { useEffect, useRef, useState } from 'react';
import { Failure } from '../ui/read';
import { expressionOf } from './scan';
import { searchFile, type SearchState } from './search';

export interface SearchBarProps {
  readonly file: { taskId: string; path: string; size: number };
  readonly onExpression: (expression: RegExp | undefined) => void;
  readonly onGo: (at: number) => void;
}

/** Searches the whole file; Enter goes to the next line that was found, Shift-Enter to the one before. */
export function SearchBar({ file, onExpression, onGo }: SearchBarProps) {
  const [text, setText] = useState('');
  const [isRegExp, setRegExp] = useState(false);
  const [matchCase, setMatchCase] = useState(false);
  const [found, setFound] = useState<SearchState>();
  const [failure, setFailure] = useState<unknown>();
  const [at, setAt] = useState(-1);
  const [showsAll, setShowsAll] = useState(false);
  const running = useRef<AbortController>(undefined);
  const expression = expressionOf(text, { isRegExp, matchCase });
  const stop = () => running.current?.abort();
  useEffect(() => stop, []);
  useEffect(() => {
    stop();
    setFound(undefined);
    setAt(-1);
    onExpression(expressionOf(text, { isRegExp, matchCase }));
  }, [text, isRegExp, matchCase, onExpression]);

  function search(): void {
    if (!expression) return;
    const controller = new AbortController();
    running.current = controller;
    setFailure(undefined);
    searchFile(file, expression, setFound, controller.signal).catch((cause: unknown) => {
      if (!controller.signal.aborted) setFailure(cause);
    });
  }
  function step(by: number): void {
    const hits = found?.hits ?? [];
    if (hits.length === 0) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    onGo(hits[next]!.at);
  }
  const onKey = (event: React.KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (found) step(event.shiftKey ? -1 : 1);
    else search();
  };
  const isBroken = text !== '' && !expression;
  return (
    <div className="log-search" role="search">
      <input
        type="search"
        aria-label="Search the whole file"
        placeholder="Search the whole file"
        aria-invalid={isBroken}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <label className="check">
        <input type="checkbox" checked={isRegExp} onChange={(event) => setRegExp(event.target.checked)} />{' '}
        <span title="Regular expression">.*</span>
      </label>
      <label className="check">
        <input type="checkbox" checked={matchCase} onChange={(event) => setMatchCase(event.target.checked)} />{' '}
        <span title="Upper and lower case">aA</span>
      </label>
      <button type="button" disabled={!expression} onClick={search}>
        Search
      </button>
      {isBroken && <span className="bad">is no regular expression</span>}
      {found && (
        <span role="status">
          {at >= 0 && `${at + 1} of `}
          {found.hits.length}
          {found.isFull && ' and more'} {found.isDone ? 'lines' : `lines, ${Math.round(found.progress * 100)} %`}
        </span>
      )}
      {found && !found.isDone && (
        <button type="button" onClick={stop}>
          Stop
        </button>
      )}
      {found && found.hits.length > 0 && (
        <>
          <button type="button" aria-label="The line before" onClick={() => step(-1)}>
            ↑
          </button>
          <button type="button" aria-label="The next line" onClick={() => step(1)}>
            ↓
          </button>
          <button type="button" aria-pressed={showsAll} onClick={() => setShowsAll(!showsAll)}>
            Only these
          </button>
        </>
      )}
      {failure !== undefined && <Failure cause={failure} />}
      {showsAll && found && (
        <ol className="hits" aria-label="Lines that were found">
          {found.hits.slice(0, 1_000).map((hit) => (
            <li key={hit.at}>
              <button type="button" className="quiet" onClick={() => onGo(hit.at)}>
                {hit.text}
              </button>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
