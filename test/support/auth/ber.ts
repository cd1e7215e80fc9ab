/** One value as LDAP writes it: a tag, a length, and bytes that may be further values. */
export interface Value {
  tag: number;
  bytes: Buffer;
}

/** The value at the start of these bytes and what follows it; undefined: not all of it is here yet. */
export function readValue(bytes: Buffer): { value: Value; rest: Buffer } | undefined {
  if (bytes.length < 2) return undefined;
  const [tag, first] = [bytes[0]!, bytes[1]!];
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (bytes.length < 2 + lengthBytes) return undefined;
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(2, lengthBytes);
  const end = 2 + lengthBytes + length;
  if (bytes.length < end) return undefined;
  return { value: { tag, bytes: bytes.subarray(2 + lengthBytes, end) }, rest: bytes.subarray(end) };
}

export function readValues(bytes: Buffer): Value[] {
  const values: Value[] = [];
  for (let found = readValue(bytes); found; found = readValue(found.rest)) values.push(found.value);
  return values;
}

export function write(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const length = content.length < 0x80 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

export const sequence = (...parts: Buffer[]): Buffer => write(0x30, ...parts);
export const text = (value: string): Buffer => write(0x04, value);
