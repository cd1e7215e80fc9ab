/** The log of the agent. The scheduler's logger fits, and so does a test's list. */
export interface Log {
  info(message: string): void;
  warn(message: string): void;
  error(message: string, cause?: unknown): void;
}
