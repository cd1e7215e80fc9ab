import type { MusterError } from 'muster-client';

/**
 * True for a refusal of the server; by its name, since to load the client for its class takes time that most commands
 * need not spend.
 */
export const isRefusal = (cause: unknown): cause is MusterError =>
  cause instanceof Error && cause.name === 'MusterError';

export const isMissing = (cause: unknown): boolean => isRefusal(cause) && cause.status === 404;
