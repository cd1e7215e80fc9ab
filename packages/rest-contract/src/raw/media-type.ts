export const JSON_TYPE = 'application/json;charset=utf-8';
export const NDJSON_TYPE = 'application/x-ndjson;charset=utf-8';
export const FORM_TYPE = 'application/x-www-form-urlencoded';
export const TEXT_TYPE = 'text/plain;charset=utf-8';

/** `Text/Plain; charset="UTF-8"` -> `text/plain` */
export function essence(mediaType: string): string {
  const end = mediaType.indexOf(';');
  return (end < 0 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase();
}

export function charsetOf(mediaType: string): string {
  const found = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(mediaType);
  return found?.[1]?.toLowerCase() ?? 'utf-8';
}

/** True when a body of this media type may be read where `accepted` is expected: wildcards accept a family. */
export function accepts(accepted: string, mediaType: string): boolean {
  const wanted = essence(accepted);
  const given = essence(mediaType);
  if (wanted === given || wanted === '*/*') return true;
  if (wanted.endsWith('/*')) return given.startsWith(wanted.slice(0, -1));
  // application/problem+json is JSON, and so is every other structured suffix.
  return wanted === 'application/json' && given.startsWith('application/') && given.endsWith('+json');
}
