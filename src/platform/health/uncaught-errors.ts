import type { LoggerService } from '@nestjs/common';

/** Errors that nothing caught. Counted, because nothing but an operator ends the process. */
export const uncaughtErrors = { count: 0 };

/** From now on such errors are logged and counted, and the process goes on. */
export function surviveUncaughtErrors(logger: LoggerService): void {
  const survive = (cause: unknown): void => {
    uncaughtErrors.count += 1;
    logger.error('Uncaught error; the process continues', cause, 'Process');
  };
  process.on('uncaughtException', survive);
  process.on('unhandledRejection', survive);
}
