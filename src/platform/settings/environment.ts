/** The only look at the environment of this process. */
export function readEnvironment(): Record<string, string | undefined> {
  return process.env;
}
