import { SchedulerError } from '../../platform/errors.js';

/** Does the work, or ends it and says so when it has taken that long. */
export async function within<T>(
  seconds: number,
  advice: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(seconds * 1_000);
  const tooLate = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () =>
      reject(new SchedulerError('OBJSTORE_TIMEOUT', `The object store took more than ${seconds} s; ${advice}`)),
    );
  });
  const done = work(signal);
  // What is still under way fails as well, with nobody left to tell.
  done.catch(() => undefined);
  tooLate.catch(() => undefined);
  return Promise.race([tooLate, done]);
}
