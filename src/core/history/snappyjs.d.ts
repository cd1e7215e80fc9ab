declare module 'snappyjs' {
  /** Raw Snappy blocks. Throws at what is none, or would be longer than `maxLength` bytes. */
  export function uncompress(compressed: Uint8Array, maxLength?: number): Uint8Array;
  export function compress(plain: Uint8Array): Uint8Array;
}
