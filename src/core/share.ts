/** A number from 0 to below 1 that a text stands for: spread evenly over many texts, and the same for one each time. */
export function shareOf(text: string): number {
  // FNV-1a, whose low bits are then mixed into the high ones.
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
