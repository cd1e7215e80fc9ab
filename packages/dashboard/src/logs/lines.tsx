import { memo, useImperativeHandle, useLayoutEffect, useRef, type Ref } from 'react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { levelOf, spansOf } from './ansi';
import type { LogView } from './reader';
import type { Line } from './window';

const ROW = 20;
const NEAR_ROWS = 50;

export interface LinesHandle {
  /** Scrolls to the line at this position, or to the end. */
  show(at: number | undefined): void;
}

export interface LogLinesProps {
  readonly ref: Ref<LinesHandle>;
  readonly view: LogView;
  readonly wraps: boolean;
  readonly expression: RegExp | undefined;
  readonly marked: number | undefined;
  readonly onMark: (at: number) => void;
  readonly onTop: () => void;
  readonly onBottom: () => void;
  readonly onFollow: (on: boolean) => void;
}

/** The lines in memory, of which those on screen are drawn. */
export function LogLines(props: LogLinesProps) {
  const { view, wraps } = props;
  // The first of them is half a line until the piece before it was read.
  const lines = view.start > 0 ? view.lines.slice(1) : view.lines;
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    getItemKey: (index) => keyOf(lines[index]) ?? index,
    overscan: 20,
  });
  const items = virtual.getVirtualItems();

  useImperativeHandle(props.ref, () => ({
    show(at) {
      const index = at === undefined ? lines.length - 1 : lines.findIndex((line) => line.at >= at);
      if (index >= 0) virtual.scrollToIndex(index, { align: at === undefined ? 'end' : 'center' });
    },
  }));

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (view.isFollowing) element.scrollTop = element.scrollHeight;
    else element.scrollTop += (view.prepended - view.dropped) * ROW;
  }, [view, wraps]);

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (view.isFollowing && below > ROW * 3) props.onFollow(false);
    if (element.scrollTop < NEAR_ROWS * ROW && view.start > 0) props.onTop();
    if (below < NEAR_ROWS * ROW && !view.isFollowing && view.end < view.size) props.onBottom();
    if (!view.isFollowing && below < ROW && view.end >= view.size) props.onFollow(true);
  };

  return (
    <div
      ref={box}
      className={wraps ? 'log-lines wraps' : 'log-lines'}
      role="log"
      aria-live="off"
      aria-label="Lines"
      tabIndex={0}
      onScroll={onScroll}
    >
      <div className="log-all" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ key, index, start }) => {
          const line = lines[index];
          if (!line) return null;
          return (
            <div
              key={key}
              data-index={index}
              ref={wraps ? virtual.measureElement : undefined}
              className="log-line"
              style={{ transform: `translateY(${start}px)` }}
            >
              <Row
                at={line.at}
                text={line.text}
                source={line.source}
                isMarked={line.at === props.marked}
                expression={props.expression}
                onMark={props.onMark}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Positions are those of one file. */
const keyOf = (line: Line | undefined): string | number | undefined =>
  line?.source === undefined ? line?.at : `${line.source} ${line.at}`;

interface RowProps {
  readonly at: number;
  readonly text: string;
  readonly source: string | undefined;
  readonly isMarked: boolean;
  readonly expression: RegExp | undefined;
  readonly onMark: (at: number) => void;
}

/** A row is drawn again when it is another one, not when others come. */
const Row = memo(function Row({ at, text, source, isMarked, expression, onMark }: RowProps) {
  return (
    <>
      {source === undefined ? (
        <button
          type="button"
          className="anchor"
          aria-label={`Link to the line at byte ${at}`}
          onClick={() => onMark(at)}
        >
          ¶
        </button>
      ) : (
        <span className={`source source-${Number(source) % 6}`}>{source}</span>
      )}
      <span className={`text ${levelOf(text) ?? ''} ${isMarked ? 'marked' : ''}`}>
        {spansOf(text).map((span, index) => (
          <span key={index} className={span.style}>
            <Highlighted text={span.text} expression={expression} />
          </span>
        ))}
      </span>
    </>
  );
});

function Highlighted({ text, expression }: { text: string; expression: RegExp | undefined }) {
  if (!expression) return text;
  const parts: (string | { found: string; at: number })[] = [];
  let at = 0;
  for (const match of text.matchAll(expression)) {
    if (match[0] === '') continue;
    parts.push(text.slice(at, match.index), { found: match[0], at: match.index });
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts.map((part) => (typeof part === 'string' ? part : <mark key={part.at}>{part.found}</mark>));
}
