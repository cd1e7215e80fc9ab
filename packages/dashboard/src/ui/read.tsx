import { Component, type ReactNode, useState } from 'react';
import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { MusterError } from 'muster-client';
import { isStatus } from '../api';
import { isMissingPart } from './part';
import { useNow } from './time';

export interface ReadOptions {
  /** Read again after these many milliseconds, where no event tells of a change. */
  readonly everyMs?: number;
  readonly enabled?: boolean;
  /** For so long it is not read again because another part of the page wants it, too. */
  readonly freshMs?: number;
  /** Another page of the same list: the present one is shown until it has come. */
  readonly isPaged?: boolean;
}

/** Reads for one panel. Events of the stream have it read again by the beginning of its key. */
export const useRead = <T,>(key: readonly unknown[], read: () => Promise<T>, options: ReadOptions = {}) =>
  useQuery<T>({
    queryKey: key,
    queryFn: read,
    ...(options.isPaged && { placeholderData: keepPreviousData }),
    ...(options.everyMs !== undefined && { refetchInterval: options.everyMs }),
    ...(options.enabled !== undefined && { enabled: options.enabled }),
    ...(options.freshMs !== undefined && { staleTime: options.freshMs }),
  });

/** Each panel is loading, empty or broken by itself; the others go on. */
export function Panel<T>({ of, children }: { of: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (of.data !== undefined)
    return (
      <div className={of.isPlaceholderData ? 'dimmed' : undefined}>
        {of.isError && <Failure cause={of.error} retry={() => void of.refetch()} />}
        {children(of.data)}
      </div>
    );
  if (of.isError) return <Failure cause={of.error} retry={() => void of.refetch()} />;
  return <Loading />;
}

export const Loading = () => (
  <p className="loading" role="status">
    Loading
  </p>
);

export function Failure({ cause, retry }: { cause: unknown; retry?: () => void }) {
  return (
    <div className="notice bad" role="alert">
      <p>{failureText(cause)}</p>
      {cause instanceof MusterError && cause.requestId !== undefined && (
        <p className="faint">
          {cause.code}, call {cause.requestId}
        </p>
      )}
      {isMissingPart(cause) ? (
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      ) : (
        retry && (
          <button type="button" onClick={retry}>
            {isStatus(cause, 409) ? 'Look again' : 'Try again'}
          </button>
        )
      )}
      {cause instanceof MusterError && cause.status === 429 && <Countdown ms={cause.retryAfterMs ?? 0} />}
    </div>
  );
}

/** Says when the service may be asked again. */
function Countdown({ ms }: { ms: number }) {
  const [until] = useState(() => Date.now() + ms);
  const seconds = Math.ceil((until - useNow()) / 1_000);
  return <p className="faint">{seconds > 0 ? `Wait ${seconds} s before you try again.` : 'You can try again now.'}</p>;
}

export function failureText(cause: unknown): string {
  if (cause instanceof MusterError) {
    if (cause.status === 502) return 'The service is being deployed. This page goes on by itself.';
    if (cause.status === 403) return `You may not do this: ${cause.message}`;
    return cause.message;
  }
  if (isMissingPart(cause)) return 'A part of this page could not be loaded.';
  return cause instanceof Error ? cause.message : String(cause);
}

/** An answer that nobody thought of breaks its own part of the page only. */
export class Boundary extends Component<{ children: ReactNode }, { cause?: unknown }> {
  override state: { cause?: unknown } = {};

  static getDerivedStateFromError(cause: unknown) {
    return { cause };
  }

  override render() {
    if (this.state.cause === undefined) return this.props.children;
    return <Failure cause={this.state.cause} retry={() => this.setState({ cause: undefined })} />;
  }
}
