/**
 * The file that a task with executorData sources: one export per variable, in the order given. `$NAME` in a value is
 * expanded, so that a value may refer to a variable above it; everything else in it is literal.
 */
export function deployEnv(environment: Record<string, string>): string {
  return Object.entries(environment)
    .map(([name, value]) => `export ${name}="${quoted(value)}"\n`)
    .join('');
}

/** Within double quotes a shell looks at backslash, quote, backtick and `$(`; an exclamation mark is plain in scripts. */
const quoted = (value: string): string => value.replace(/[\\"`]|\$(?=\()/g, '\\$&');
