import { Observable } from 'rxjs';
import type { AsyncWrapper } from './async/wrappers.js';

declare module './async/wrappers.js' {
  interface AsyncWrappers<T> {
    observable: Observable<T>;
  }
}

/**
 * RxJS observables of a single value. On the client each subscription is a call, and unsubscribing gives it up; on the
 * server the first value is the answer, and a caller who hangs up unsubscribes.
 */
export const observable: AsyncWrapper<'observable'> = {
  name: 'observable',
  toPromise: <T>(wrapped: Observable<T>, signal: AbortSignal) =>
    new Promise<T>((resolve, reject) => {
      const subscription = wrapped.subscribe({
        next: (value) => {
          resolve(value);
          // Synchronous sources call before `subscription` exists; they end by themselves.
          queueMicrotask(() => subscription.unsubscribe());
        },
        error: reject,
        // An operation without result completes without a value.
        complete: () => resolve(undefined as T),
      });
      signal.addEventListener(
        'abort',
        () => {
          subscription.unsubscribe();
          reject(signal.reason);
        },
        { once: true },
      );
    }),
  fromCall: <T>(call: (signal?: AbortSignal) => Promise<T>) =>
    new Observable<T>((subscriber) => {
      const controller = new AbortController();
      call(controller.signal).then(
        (value) => {
          subscriber.next(value);
          subscriber.complete();
        },
        (error: unknown) => subscriber.error(error),
      );
      return () => controller.abort(new DOMException('Unsubscribed', 'AbortError'));
    }),
};
