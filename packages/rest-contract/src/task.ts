import type { AsyncWrapper } from './async/wrappers.js';

/** A call that has not been made: it starts when the task is run, and each run is a call. */
export type Task<T> = () => Promise<T>;

declare module './async/wrappers.js' {
  interface AsyncWrappers<T> {
    task: Task<T>;
  }
}

export const task: AsyncWrapper<'task'> = {
  name: 'task',
  toPromise: <T>(wrapped: Task<T>) => wrapped(),
  fromCall:
    <T>(call: (signal?: AbortSignal) => Promise<T>): Task<T> =>
    () =>
      call(),
};
