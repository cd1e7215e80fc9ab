/**
 * A whole number from 0 to below 2^32 that depends on the text alone: the same on every machine and after every restart, and
 * spread evenly over similar texts (FNV-1a, mixed once more, since it leaves the high bits of short texts alike).
 */
export function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
