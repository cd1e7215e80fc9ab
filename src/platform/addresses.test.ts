import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AddressRanges, isLoopbackHost, isPublicAddress } from './addresses.js';

test.each([
  '8.8.8.8',
  '93.184.216.34',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.0.1.1',
  '198.17.255.255',
  '198.20.0.1',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '::ffff:808:808',
  '2606:2800:220:1::1',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2a00::1',
  '3ffe:ffff::1',
])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true));

const notPublic = [
  '',
  '0.0.0.0 0.255.1.1 10.9.8.7 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1',
  '172.31.255.255 192.0.0.8 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.175.48.1',
  '198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1',
  '::7f00:1 ::10.0.0.1 ::ffff:10.0.0.1 ::ffff:7f00:1 ::FFFF:A9FE:A9FE 0:0:0:0:0:ffff:c0a8:1 ::ffff:0:127.0.0.1',
  '::ffff:0:808:808 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::1 100::1 100:0:0:1::1 1fff::1 2001::1',
  '2001:0:7f00:1:: 2001:2::1 2001:10::1 2001:20::1 2001:1ff:ffff::1 2001:db8::1 2002:7f00:1:: 2002:808:808::1',
  '2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fdff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1',
  'feff::1 ff02::1 ff0e::1 localhost 8.8.8 0x8.8.8.8 8.8.8.8. [2606::1] 2606::1::2',
];
test.each(notPublic.flatMap((line) => line.split(' ')))('%j is not public', (address) =>
  expect(isPublicAddress(address)).toBe(false),
);

const anyIpv4 = fc.ipV4();
test('an IPv4 address is judged the same in the form of IPv6, in words of 16 bits too', () =>
  fc.assert(
    fc.property(anyIpv4, (address) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
      const words = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
      for (const form of [`::ffff:${address}`, `::ffff:${words}`, `0:0:0:0:0:FFFF:${words}`])
        expect([form, isPublicAddress(form), isLoopbackHost(`[${form}]`)]).toEqual([
          form,
          isPublicAddress(address),
          isLoopbackHost(address),
        ]);
      // Where the address within decides where a connection goes, none is public.
      for (const form of [`::${words}`, `::ffff:0:${words}`, `64:ff9b::${words}`, `2002:${words}::1`])
        expect([form, isPublicAddress(form)]).toEqual([form, false]);
    }),
  ));

test.each([
  ['localhost', true],
  ['LOCALHOST.', true],
  ['127.0.0.1', true],
  ['127.8.9.10', true],
  ['::1', true],
  ['[::1]', true],
  ['[::ffff:127.0.0.1]', true],
  ['web.localhost', false],
  ['127.evil.example', false],
  ['127.0.0.1.evil.example', false],
  ['localhost.evil.example', false],
  ['evillocalhost', false],
  ['.localhost', false],
  ['0.0.0.0', false],
  ['127.0.0.999', false],
  ['::2', false],
  ['', false],
])('%s is the loopback: %s', (host, is) => expect(isLoopbackHost(host)).toBe(is));

test('ranges have their first and last address, and no other', () => {
  const ranges = new AddressRanges(['10.1.0.0/16', 'fd00::/8', '1.2.3.4']);
  const has = ['10.1.0.0', '10.1.255.255', '::ffff:10.1.0.9', '1.2.3.4', 'fd00::', 'fdff::1%eth0'];
  expect(
    [...has, '10.0.255.255', '10.2.0.0', '1.2.3.5', 'fe00::', 'x'].filter((address) => ranges.has(address)),
  ).toEqual(has);
  expect([new AddressRanges([]).isEmpty, ranges.isEmpty]).toEqual([true, false]);
});
