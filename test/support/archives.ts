import { deflateRawSync, gzipSync } from 'node:zlib';

export interface TarEntry {
  name: string;
  /** 0: file, 1: hard link, 2: link, 3: character device, 5: folder, 6: named pipe. */
  type?: string;
  linkTo?: string;
  content?: string;
  /** Seven octal digits. */
  mode?: string;
}

/** A tar archive of entries that no tool would make. */
export const tarOf = (entries: readonly TarEntry[]): Buffer =>
  Buffer.concat([...entries.map(entryOf), Buffer.alloc(1024)]);

const nul = '\x00';

function entryOf({ name, type = '0', linkTo = '', content = '', mode = '0000755' }: TarEntry): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(`${mode}${nul}0000000${nul}0000000${nul}`, 100);
  header.write([content.length.toString(8).padStart(11, '0'), '0'.repeat(11), `        ${type}`].join(nul), 124);
  header.write(linkTo, 157);
  header.write(`ustar${nul}00root`, 257);
  if (type === '3') header.write(`0000001${nul}0000003`, 329);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}${nul} `, 148);
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([header, body]);
}

/** A few kilobytes that unpack to so many megabytes of nothing. */
export const gzipBomb = (megabytes: number): Buffer =>
  // Members of a gzip file follow each other.
  Buffer.concat(Array<Buffer>(megabytes).fill(gzipSync(Buffer.alloc(1024 * 1024), { level: 9 })));

/** A zip archive of one such file. */
export const zipBomb = (megabytes: number): Buffer => zipOf([{ name: 'bomb', content: Buffer.alloc(megabytes << 20) }]);

export interface ZipEntry {
  name: string;
  content?: string | Buffer;
  isLink?: boolean;
  /** It wants a password. */
  isEncrypted?: boolean;
}

/** A zip archive of entries that no tool would make. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  for (const { name, content = '', isLink = false, isEncrypted = false } of entries) {
    const plain = Buffer.from(content);
    const packed = deflateRawSync(plain);
    const path = Buffer.from(name);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(isEncrypted ? 1 : 0, 2);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(checksum(plain), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(plain.length, 18);
    facts.writeUInt16LE(path.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(((isLink ? 0o120777 : 0o100644) << 16) >>> 0, 6);
    rest.writeUInt32LE(
      locals.reduce((sum, { length }) => sum + length, 0),
      10,
    );
    locals.push(Buffer.concat([Buffer.from('PK\x03\x04'), facts, path, packed]));
    centrals.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x03', 'latin1'), facts, rest, path]));
  }
  const [local, central] = [Buffer.concat(locals), Buffer.concat(centrals)];
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

/** Node 20 has no function for it, but it stands near the end of a gzip file. */
const checksum = (data: Buffer): number => gzipSync(data).subarray(-8).readUInt32LE();
