/** A path below a sandbox in its plain form, without slashes at its ends. undefined: it leads outside. */
export function sandboxPath(given: string): string | undefined {
  const parts = given.split('/').filter((part) => part !== '' && part !== '.');
  return parts.includes('..') ? undefined : parts.join('/');
}
