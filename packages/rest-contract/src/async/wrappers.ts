/**
 * The asynchronous containers that operations may answer with, by name. Add one by declaration merging:
 * `declare module 'rest-contract' { interface AsyncWrappers<T> { future: Future<T> } }`.
 */
export interface AsyncWrappers<T> {
  promise: Promise<T>;
}
export type WrapperName = keyof AsyncWrappers<unknown>;
export type WrapperOf<T, W extends WrapperName> = AsyncWrappers<T>[W];

/** The two conversions of a container. */
export interface AsyncWrapper<W extends WrapperName> {
  readonly name: W;
  /** Server: runs what an implementation returned. `signal` fires when the caller gave up. */
  toPromise<T>(wrapped: WrapperOf<T, W>, signal: AbortSignal): Promise<T>;
  /** Client: wraps a call. A lazy container starts it when it is run, once per run. */
  fromCall<T>(call: (signal?: AbortSignal) => Promise<T>): WrapperOf<T, W>;
}
