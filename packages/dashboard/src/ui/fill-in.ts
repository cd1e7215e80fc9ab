/** `{{path}}` of a link becomes that member of the document, encoded; one that is not there becomes nothing. */
export const fillIn = (format: string, document: unknown): string =>
  format.replaceAll(/\{\{\s*([\w.]+)\s*\}\}/g, (_all, path: string) => {
    let at: unknown = document;
    for (const name of path.split('.'))
      at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : undefined;
    return at === undefined || at === null || typeof at === 'object' ? '' : encodeURIComponent(String(at));
  });
